// Datasets and iterators that few programs use.
#include "graph/shape_inference.h"
#include "kernels/data/family.h"

namespace weir {
namespace {

// Outputs are an element's tensors.
absl::Status ElementShape(InferenceContext& c) {
  std::vector<PartialTensorShape> shapes;
  RETURN_IF_ERROR(c.GetAttr("output_shapes", &shapes));
  if (static_cast<int>(shapes.size()) != c.num_outputs()) {
    return errors::InvalidArgument("`output_shapes` must be the same length as `output_types` (", shapes.size(),
                                   " vs. ", c.num_outputs(), ")");
  }
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, shapes[i]);
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterRareDatasetOps(OpRegistry& ops) {
  for (const char* name : {"GroupByReducerDataset", "ExperimentalGroupByReducerDataset"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("input_dataset: variant")
                                     .Input("key_func_other_arguments: Tkey_func_other_arguments")
                                     .Input("init_func_other_arguments: Tinit_func_other_arguments")
                                     .Input("reduce_func_other_arguments: Treduce_func_other_arguments")
                                     .Input("finalize_func_other_arguments: Tfinalize_func_other_arguments")
                                     .Output("handle: variant")
                                     .Attr("key_func: func")
                                     .Attr("init_func: func")
                                     .Attr("reduce_func: func")
                                     .Attr("finalize_func: func")
                                     .Attr("Tkey_func_other_arguments: list(type) >= 0")
                                     .Attr("Tinit_func_other_arguments: list(type) >= 0")
                                     .Attr("Treduce_func_other_arguments: list(type) >= 0")
                                     .Attr("Tfinalize_func_other_arguments: list(type) >= 0")
                                     .Attr("output_types: list(type) >= 1")
                                     .Attr("output_shapes: list(shape) >= 1")
                                     .Stateful()
                                     .Shape(shapes::Scalar)));
  }
  RETURN_IF_ERROR(ops.Register(Op("SlidingWindowDataset")
                                   .Input("input_dataset: variant")
                                   .Input("window_size: int64")
                                   .Input("window_shift: int64")
                                   .Input("window_stride: int64")
                                   .Output("handle: variant")
                                   .Attr("drop_remainder: bool = true")
                                   .Attr("output_types: list(type) >= 1")
                                   .Attr("output_shapes: list(shape) >= 1")
                                   .Shape(shapes::Scalar)));
  for (const char* name : {"DenseToSparseBatchDataset", "ExperimentalDenseToSparseBatchDataset"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("input_dataset: variant")
                                     .Input("batch_size: int64")
                                     .Input("row_shape: int64")
                                     .Output("handle: variant")
                                     .Attr("output_types: list(type) >= 1")
                                     .Attr("output_shapes: list(shape) >= 1")
                                     .Shape(shapes::Scalar)));
  }
  for (const char* name : {"RebatchDataset", "ExperimentalRebatchDataset"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("input_dataset: variant")
                                     .Input("num_replicas: int64")
                                     .Output("handle: variant")
                                     .Attr("output_types: list(type) >= 1")
                                     .Attr("output_shapes: list(shape) >= 1")
                                     .Attr("use_fallback: bool = true")
                                     .Shape(shapes::Scalar)));
  }
  RETURN_IF_ERROR(ops.Register(Op("AutoShardDataset")
                                   .Input("input_dataset: variant")
                                   .Input("num_workers: int64")
                                   .Input("index: int64")
                                   .Output("handle: variant")
                                   .Attr("auto_shard_policy: int = 0")
                                   .Attr("output_types: list(type) >= 1")
                                   .Attr("output_shapes: list(shape) >= 1")
                                   .Attr("num_replicas: int = 0")
                                   .Shape(shapes::Scalar)));
  for (const char* name : {"SqlDataset", "ExperimentalSqlDataset"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("driver_name: string")
                                     .Input("data_source_name: string")
                                     .Input("query: string")
                                     .Output("handle: variant")
                                     .Attr("output_types: list(type) >= 1")
                                     .Attr("output_shapes: list(shape) >= 1")
                                     .Stateful()
                                     .Shape(shapes::Scalar)));
  }
  for (const char* name : {"CSVDataset", "ExperimentalCSVDataset"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("filenames: string")
                                     .Input("compression_type: string")
                                     .Input("buffer_size: int64")
                                     .Input("header: bool")
                                     .Input("field_delim: string")
                                     .Input("use_quote_delim: bool")
                                     .Input("na_value: string")
                                     .Input("select_cols: int64")
                                     .Input("record_defaults: output_types")
                                     .Output("handle: variant")
                                     .Attr("output_types: list({float, double, int32, int64, string}) >= 1")
                                     .Attr("output_shapes: list(shape) >= 1")
                                     .Stateful()
                                     .Shape(shapes::Scalar)));
  }
  RETURN_IF_ERROR(ops.Register(Op("ParseExampleDataset")
                                   .Input("input_dataset: variant")
                                   .Input("num_parallel_calls: int64")
                                   .Input("dense_defaults: Tdense")
                                   .Output("handle: variant")
                                   .Attr("sparse_keys: list(string) >= 0")
                                   .Attr("dense_keys: list(string) >= 0")
                                   .Attr("sparse_types: list({float, int64, string}) >= 0")
                                   .Attr("Tdense: list({float, int64, string}) >= 0")
                                   .Attr("dense_shapes: list(shape) >= 0")
                                   .Attr("output_types: list(type) >= 1")
                                   .Attr("output_shapes: list(shape) >= 1")
                                   .Attr("sloppy: bool = false")
                                   .Attr("ragged_keys: list(string) >= 0 = []")
                                   .Attr("ragged_value_types: list({float, int64, string}) >= 0 = []")
                                   .Attr("ragged_split_types: list({int32, int64}) >= 0 = []")
                                   .Shape(shapes::Scalar)));
  for (const char* name : {"SleepDataset", "ExperimentalSleepDataset"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("input_dataset: variant")
                                     .Input("sleep_microseconds: int64")
                                     .Output("handle: variant")
                                     .Attr("output_types: list(type) >= 1")
                                     .Attr("output_shapes: list(shape) >= 1")
                                     .Shape(shapes::Scalar)));
  }
  for (const char* name : {"ThreadPoolDataset", "ExperimentalThreadPoolDataset"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("input_dataset: variant")
                                     .Input("thread_pool: resource")
                                     .Output("handle: variant")
                                     .Attr("output_types: list(type) >= 1")
                                     .Attr("output_shapes: list(shape) >= 1")
                                     .Stateful()
                                     .Shape(shapes::Scalar)));
  }
  for (const char* name : {"ChooseFastestDataset", "ExperimentalChooseFastestDataset"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("input_datasets: N * variant")
                                     .Output("handle: variant")
                                     .Attr("N: int >= 2")
                                     .Attr("num_experiments: int")
                                     .Attr("output_types: list(type) >= 1")
                                     .Attr("output_shapes: list(shape) >= 1")
                                     .Shape(shapes::Scalar)));
  }
  RETURN_IF_ERROR(ops.Register(Op("ExperimentalSlidingWindowDataset")
                                   .Input("input_dataset: variant")
                                   .Input("window_size: int64")
                                   .Input("window_shift: int64")
                                   .Input("window_stride: int64")
                                   .Output("handle: variant")
                                   .Attr("output_types: list(type) >= 1")
                                   .Attr("output_shapes: list(shape) >= 1")
                                   .Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("ExperimentalAutoShardDataset")
                                   .Input("input_dataset: variant")
                                   .Input("num_workers: int64")
                                   .Input("index: int64")
                                   .Output("handle: variant")
                                   .Attr("auto_shard_policy: int = 0")
                                   .Attr("output_types: list(type) >= 1")
                                   .Attr("output_shapes: list(shape) >= 1")
                                   .Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("ExperimentalParseExampleDataset")
                                   .Input("input_dataset: variant")
                                   .Input("num_parallel_calls: int64")
                                   .Input("dense_defaults: Tdense")
                                   .Output("handle: variant")
                                   .Attr("sparse_keys: list(string) >= 0")
                                   .Attr("dense_keys: list(string) >= 0")
                                   .Attr("sparse_types: list({float, int64, string}) >= 0")
                                   .Attr("Tdense: list({float, int64, string}) >= 0")
                                   .Attr("dense_shapes: list(shape) >= 0")
                                   .Attr("output_types: list(type) >= 1")
                                   .Attr("output_shapes: list(shape) >= 1")
                                   .Attr("sloppy: bool = false")
                                   .Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("RebatchDatasetV2")
                                   .Input("input_dataset: variant")
                                   .Input("batch_sizes: int64")
                                   .Input("drop_remainder: bool")
                                   .Output("handle: variant")
                                   .Attr("output_types: list(type) >= 1")
                                   .Attr("output_shapes: list(shape) >= 1")
                                   .Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("CSVDatasetV2")
                                   .Input("filenames: string")
                                   .Input("compression_type: string")
                                   .Input("buffer_size: int64")
                                   .Input("header: bool")
                                   .Input("field_delim: string")
                                   .Input("use_quote_delim: bool")
                                   .Input("na_value: string")
                                   .Input("select_cols: int64")
                                   .Input("record_defaults: output_types")
                                   .Input("exclude_cols: int64")
                                   .Output("handle: variant")
                                   .Attr("output_types: list({float, double, int32, int64, string}) >= 1")
                                   .Attr("output_shapes: list(shape) >= 1")
                                   .Stateful()
                                   .Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("ParseExampleDatasetV2")
                                   .Input("input_dataset: variant")
                                   .Input("num_parallel_calls: int64")
                                   .Input("dense_defaults: Tdense")
                                   .Output("handle: variant")
                                   .Attr("sparse_keys: list(string) >= 0")
                                   .Attr("dense_keys: list(string) >= 0")
                                   .Attr("sparse_types: list({float, int64, string}) >= 0")
                                   .Attr("Tdense: list({float, int64, string}) >= 0")
                                   .Attr("dense_shapes: list(shape) >= 0")
                                   .Attr("output_types: list(type) >= 1")
                                   .Attr("output_shapes: list(shape) >= 1")
                                   .Attr("deterministic: string = 'default'")
                                   .Attr("ragged_keys: list(string) >= 0 = []")
                                   .Attr("ragged_value_types: list({float, int64, string}) >= 0 = []")
                                   .Attr("ragged_split_types: list({int32, int64}) >= 0 = []")
                                   .Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("SamplingDataset")
                                   .Input("input_dataset: variant")
                                   .Input("rate: float")
                                   .Input("seed: int64")
                                   .Input("seed2: int64")
                                   .Output("handle: variant")
                                   .Attr("output_types: list(type) >= 1")
                                   .Attr("output_shapes: list(shape) >= 1")
                                   .Shape(shapes::Scalar)));
  for (const char* name : {"ThreadPoolHandle", "ExperimentalThreadPoolHandle"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Output("handle: resource")
                                     .Attr("num_threads: int")
                                     .Attr("max_intra_op_parallelism: int = 1")
                                     .Attr("display_name: string")
                                     .Attr("container: string = ''")
                                     .Attr("shared_name: string = ''")
                                     .Stateful()
                                     .Shape(shapes::Scalar)));
  }
  RETURN_IF_ERROR(ops.Register(
      Op("GetOptions").Input("input_dataset: variant").Output("serialized_options: string").Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(
      Op("WrapDatasetVariant").Input("input_handle: variant").Output("output_handle: variant").Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("UnwrapDatasetVariant")
                                   .Input("input_handle: variant")
                                   .Output("output_handle: variant")
                                   .Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("MultiDeviceIterator")
                                   .Output("handle: resource")
                                   .Attr("devices: list(string) >= 1")
                                   .Attr("shared_name: string")
                                   .Attr("container: string")
                                   .Attr("output_types: list(type) >= 1")
                                   .Attr("output_shapes: list(shape) >= 1")
                                   .Stateful()
                                   .Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("MultiDeviceIteratorInit")
                                   .Input("dataset: variant")
                                   .Input("multi_device_iterator: resource")
                                   .Input("max_buffer_size: int64")
                                   .Output("incarnation_id: int64")
                                   .Stateful()
                                   .Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("MultiDeviceIteratorToStringHandle")
                                   .Input("multi_device_iterator: resource")
                                   .Output("string_handle: string")
                                   .Stateful()
                                   .Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("MultiDeviceIteratorFromStringHandle")
                                   .Input("string_handle: string")
                                   .Output("multi_device_iterator: resource")
                                   .Attr("output_types: list(type) >= 0 = []")
                                   .Attr("output_shapes: list(shape) >= 0 = []")
                                   .Stateful()
                                   .Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("AnonymousMultiDeviceIterator")
                                   .Output("handle: resource")
                                   .Output("deleter: variant")
                                   .Attr("devices: list(string) >= 1")
                                   .Attr("output_types: list(type) >= 1")
                                   .Attr("output_shapes: list(shape) >= 1")
                                   .Stateful()
                                   .Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("AnonymousMultiDeviceIteratorV3")
                                   .Output("handle: resource")
                                   .Attr("devices: list(string) >= 1")
                                   .Attr("output_types: list(type) >= 1")
                                   .Attr("output_shapes: list(shape) >= 1")
                                   .Stateful()
                                   .Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("MultiDeviceIteratorGetNextFromShard")
                                   .Input("multi_device_iterator: resource")
                                   .Input("shard_num: int32")
                                   .Input("incarnation_id: int64")
                                   .Output("components: output_types")
                                   .Attr("output_types: list(type) >= 1")
                                   .Attr("output_shapes: list(shape) >= 1")
                                   .Stateful()
                                   .Shape(ElementShape)));
  RETURN_IF_ERROR(ops.Register(Op("DeleteMultiDeviceIterator")
                                   .Input("multi_device_iterator: resource")
                                   .Input("iterators: N * resource")
                                   .Input("deleter: variant")
                                   .Attr("N: int >= 0")
                                   .Stateful()
                                   .Shape(shapes::NoOutputs)));
  for (const char* name : {"DatasetToTFRecord", "ExperimentalDatasetToTFRecord"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("input_dataset: variant")
                                     .Input("filename: string")
                                     .Input("compression_type: string")
                                     .Stateful()
                                     .Shape(shapes::NoOutputs)));
  }
  return absl::OkStatus();
}

}  // namespace weir
