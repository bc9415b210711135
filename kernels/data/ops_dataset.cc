// Datasets: what makes them from tensors, files and other datasets.
#include "core/status.h"
#include "graph/shape_inference.h"
#include "kernels/data/family.h"

namespace weir {
namespace {

constexpr char kTypes[] = "output_types: list(type) >= 1";
constexpr char kShapes[] = "output_shapes: list(shape) >= 1";
constexpr char kMetadata[] = "metadata: string = ''";
constexpr char kFunction[] = "f: func";
constexpr char kArguments[] = "Targuments: list(type) >= 0";
constexpr char kComponents[] = "Toutput_types: list(type) >= 1";
constexpr char kDeterministic[] = "deterministic: string = 'default'";
constexpr char kInput[] = "input_dataset: variant";
constexpr char kOthers[] = "other_arguments: Targuments";
constexpr bool kStateful = true;

// An op whose one output is a dataset.
struct DatasetOp {
  const char* name;
  std::vector<const char*> inputs, attrs;
  bool stateful = false;
};

absl::Status RegisterDatasetOpList(OpRegistry& ops, const std::vector<DatasetOp>& list) {
  for (const DatasetOp& described : list) {
    Op op(described.name);
    for (const char* input : described.inputs) op.Input(input);
    op.Output("handle: variant");
    for (const char* attr : described.attrs) op.Attr(attr);
    if (described.stateful) op.Stateful();
    RETURN_IF_ERROR(ops.Register(op.Shape(shapes::Scalar)));
  }
  return absl::OkStatus();
}

const std::vector<DatasetOp>& Sources() {
  static const std::vector<DatasetOp> list = {
      {"RangeDataset",
       {"start: int64", "stop: int64", "step: int64"},
       {kTypes, kShapes, kMetadata, "replicate_on_split: bool = false"},
       kStateful},
      {"TensorDataset", {"components: Toutput_types"}, {kComponents, kShapes, kMetadata}, kStateful},
      {"TensorSliceDataset",
       {"components: Toutput_types"},
       {kComponents, kShapes, "is_files: bool = false", kMetadata, "replicate_on_split: bool = false"},
       kStateful},
      {"SparseTensorSliceDataset",
       {"indices: int64", "values: Tvalues", "dense_shape: int64"},
       {"Tvalues: type"},
       kStateful},
      {"RandomDataset", {"seed: int64", "seed2: int64"}, {kTypes, kShapes, kMetadata}, kStateful},
      {"RandomDatasetV2",
       {"seed: int64", "seed2: int64", "seed_generator: resource"},
       {"rerandomize_each_iteration: bool = false", kTypes, kShapes, kMetadata},
       kStateful},
      {"ExperimentalRandomDataset", {"seed: int64", "seed2: int64"}, {kTypes, kShapes}, kStateful},
      {"TFRecordDataset",
       {"filenames: string", "compression_type: string", "buffer_size: int64"},
       {kMetadata},
       kStateful},
      {"TFRecordDatasetV2",
       {"filenames: string", "compression_type: string", "buffer_size: int64", "byte_offsets: int64"},
       {kMetadata},
       kStateful},
      {"TextLineDataset",
       {"filenames: string", "compression_type: string", "buffer_size: int64"},
       {kMetadata},
       kStateful},
      {"FixedLengthRecordDataset",
       {"filenames: string", "header_bytes: int64", "record_bytes: int64", "footer_bytes: int64", "buffer_size: int64"},
       {kMetadata},
       kStateful},
      {"FixedLengthRecordDatasetV2",
       {"filenames: string", "header_bytes: int64", "record_bytes: int64", "footer_bytes: int64", "buffer_size: int64",
        "compression_type: string"},
       {kMetadata},
       kStateful},
      {"MatchingFilesDataset", {"patterns: string"}, {}, kStateful},
      {"ExperimentalMatchingFilesDataset", {"patterns: string"}, {}, kStateful},
      {"GeneratorDataset",
       {"init_func_other_args: Tinit_func_args", "next_func_other_args: Tnext_func_args",
        "finalize_func_other_args: Tfinalize_func_args"},
       {"init_func: func", "next_func: func", "finalize_func: func", "Tinit_func_args: list(type) >= 0",
        "Tnext_func_args: list(type) >= 0", "Tfinalize_func_args: list(type) >= 0", kTypes, kShapes, kMetadata},
       kStateful},
      {"ListDataset",
       {"tensors: Tinput_types"},
       {"Tinput_types: list(type) >= 1", kTypes, kShapes, kMetadata},
       kStateful},
      {"DatasetFromGraph", {"graph_def: string"}, {}},
  };
  return list;
}

const std::vector<DatasetOp>& Transformations() {
  static const std::vector<DatasetOp> list = {
      {"OptionsDataset", {kInput}, {"serialized_options: string", kTypes, kShapes, kMetadata}},
      {"RepeatDataset", {kInput, "count: int64"}, {kTypes, kShapes, kMetadata}},
      {"SkipDataset", {kInput, "count: int64"}, {kTypes, kShapes, kMetadata}},
      {"TakeDataset", {kInput, "count: int64"}, {kTypes, kShapes, kMetadata}},
      {"ShardDataset",
       {kInput, "num_shards: int64", "index: int64"},
       {"require_non_empty: bool = false", kTypes, kShapes, kMetadata}},
      {"ConcatenateDataset", {kInput, "another_dataset: variant"}, {kTypes, kShapes, kMetadata}},
      {"ZipDataset", {"input_datasets: N * variant"}, {kTypes, kShapes, "N: int >= 1", kMetadata}},
      {"PrefetchDataset",
       {kInput, "buffer_size: int64"},
       {kTypes, kShapes, "slack_period: int = 0", "legacy_autotune: bool = true", "buffer_size_min: int = 0",
        kMetadata}},
      {"BatchDataset", {kInput, "batch_size: int64"}, {kTypes, kShapes, kMetadata}},
      {"BatchDatasetV2",
       {kInput, "batch_size: int64", "drop_remainder: bool"},
       {"parallel_copy: bool = false", kTypes, kShapes, kMetadata}},
      {"ParallelBatchDataset",
       {kInput, "batch_size: int64", "num_parallel_calls: int64", "drop_remainder: bool"},
       {"parallel_copy: bool = false", kTypes, kShapes, kDeterministic, kMetadata}},
      {"PaddedBatchDataset",
       {kInput, "batch_size: int64", "padded_shapes: N * int64", "padding_values: Toutput_types"},
       {kComponents, kShapes, "N: int >= 1", kMetadata}},
      {"PaddedBatchDatasetV2",
       {kInput, "batch_size: int64", "padded_shapes: N * int64", "padding_values: Toutput_types",
        "drop_remainder: bool"},
       {"parallel_copy: bool = false", kComponents, kShapes, "N: int >= 1", kMetadata}},
      {"ShuffleDataset",
       {kInput, "buffer_size: int64", "seed: int64", "seed2: int64"},
       {"reshuffle_each_iteration: bool = true", kTypes, kShapes, kMetadata}},
      {"ShuffleDatasetV2",
       {kInput, "buffer_size: int64", "seed_generator: resource"},
       {kTypes, kShapes, kMetadata},
       kStateful},
      {"ShuffleDatasetV3",
       {kInput, "buffer_size: int64", "seed: int64", "seed2: int64", "seed_generator: resource"},
       {"reshuffle_each_iteration: bool = true", kTypes, kShapes, kMetadata},
       kStateful},
      {"ShuffleAndRepeatDataset",
       {kInput, "buffer_size: int64", "seed: int64", "seed2: int64", "count: int64"},
       {kTypes, kShapes, "reshuffle_each_iteration: bool = true", kMetadata}},
      {"ShuffleAndRepeatDatasetV2",
       {kInput, "buffer_size: int64", "seed: int64", "seed2: int64", "count: int64", "seed_generator: resource"},
       {"reshuffle_each_iteration: bool = true", kTypes, kShapes, kMetadata},
       kStateful},
      {"GlobalShuffleDataset",
       {kInput, "seed: int64", "seed2: int64", "seed_generator: resource"},
       {"reshuffle_each_iteration: bool = true", kTypes, kShapes, kMetadata},
       kStateful},
      {"CacheDataset", {kInput, "filename: string"}, {kTypes, kShapes, kMetadata}},
      {"CacheDatasetV2", {kInput, "filename: string", "cache: resource"}, {kTypes, kShapes, kMetadata}, kStateful},
      {"UnbatchDataset", {kInput}, {kTypes, kShapes, kMetadata}},
      {"ExperimentalUnbatchDataset", {kInput}, {kTypes, kShapes}},
      {"WindowDataset",
       {kInput, "size: int64", "shift: int64", "stride: int64", "drop_remainder: bool"},
       {kTypes, kShapes, kMetadata}},
      {"AssertCardinalityDataset", {kInput, "cardinality: int64"}, {kTypes, kShapes}},
      {"DirectedInterleaveDataset",
       {"selector_input_dataset: variant", "data_input_datasets: N * variant"},
       {kTypes, kShapes, "N: int >= 1", "stop_on_empty_dataset: bool = false"}},
      {"ExperimentalDirectedInterleaveDataset",
       {"selector_input_dataset: variant", "data_input_datasets: N * variant"},
       {kTypes, kShapes, "N: int >= 1"}},
      {"UniqueDataset", {kInput}, {kTypes, kShapes, kMetadata}},
      {"ExperimentalUniqueDataset", {kInput}, {kTypes, kShapes}},
      {"IgnoreErrorsDataset", {kInput}, {kTypes, kShapes, "log_warning: bool = false"}},
      {"ExperimentalIgnoreErrorsDataset", {kInput}, {kTypes, kShapes, "log_warning: bool = false"}},
      {"RewriteDataset", {kInput, "rewrite_name: string"}, {kTypes, kShapes}},
      {"ModelDataset", {kInput}, {"algorithm: int = 0", "cpu_budget: int = 0", "ram_budget: int = 0", kTypes, kShapes}},
      {"OptimizeDataset",
       {kInput, "optimizations: string"},
       {kTypes, kShapes, "optimization_configs: list(string) = []"}},
      {"OptimizeDatasetV2",
       {kInput, "optimizations_enabled: string", "optimizations_disabled: string", "optimizations_default: string"},
       {kTypes, kShapes, "optimization_configs: list(string) = []"}},
      {"FinalizeDataset", {kInput}, {"has_captured_ref: bool = false", kTypes, kShapes}},
      {"NonSerializableDataset", {kInput}, {kTypes, kShapes}},
      {"ExperimentalNonSerializableDataset", {kInput}, {kTypes, kShapes}},
      {"MaxIntraOpParallelismDataset", {kInput, "max_intra_op_parallelism: int64"}, {kTypes, kShapes}},
      {"ExperimentalMaxIntraOpParallelismDataset", {kInput, "max_intra_op_parallelism: int64"}, {kTypes, kShapes}},
      {"PrivateThreadPoolDataset", {kInput, "num_threads: int64"}, {kTypes, kShapes}},
      {"ExperimentalPrivateThreadPoolDataset", {kInput, "num_threads: int64"}, {kTypes, kShapes}},
  };
  return list;
}

const std::vector<DatasetOp>& FunctionTransformations() {
  static const std::vector<DatasetOp> list = {
      {"MapDataset",
       {kInput, kOthers},
       {kFunction, kArguments, kTypes, kShapes, "use_inter_op_parallelism: bool = true",
        "preserve_cardinality: bool = false", "force_synchronous: bool = false", kMetadata}},
      {"ExperimentalMapDataset",
       {kInput, kOthers},
       {kFunction, kArguments, kTypes, kShapes, "use_inter_op_parallelism: bool = true",
        "preserve_cardinality: bool = false", "force_synchronous: bool = false"}},
      {"ParallelMapDataset",
       {kInput, kOthers, "num_parallel_calls: int32"},
       {kFunction, kArguments, kTypes, kShapes, "use_inter_op_parallelism: bool = true", "sloppy: bool = false",
        "preserve_cardinality: bool = false", kMetadata}},
      {"ParallelMapDatasetV2",
       {kInput, kOthers, "num_parallel_calls: int64"},
       {kFunction, kArguments, kTypes, kShapes, "use_inter_op_parallelism: bool = true", kDeterministic,
        "preserve_cardinality: bool = false", "use_unbounded_threadpool: bool = false", kMetadata}},
      {"MapAndBatchDataset",
       {kInput, kOthers, "batch_size: int64", "num_parallel_calls: int64", "drop_remainder: bool"},
       {kFunction, kArguments, kTypes, kShapes, "preserve_cardinality: bool = false", kMetadata}},
      {"ExperimentalMapAndBatchDataset",
       {kInput, kOthers, "batch_size: int64", "num_parallel_calls: int64", "drop_remainder: bool"},
       {kFunction, kArguments, kTypes, kShapes, "preserve_cardinality: bool = false"}},
      {"FlatMapDataset", {kInput, kOthers}, {kFunction, kArguments, kTypes, kShapes, kMetadata}},
      {"InterleaveDataset",
       {kInput, kOthers, "cycle_length: int64", "block_length: int64"},
       {kFunction, kArguments, kTypes, kShapes, kMetadata}},
      {"ParallelInterleaveDataset",
       {kInput, kOthers, "cycle_length: int64", "block_length: int64", "sloppy: bool", "buffer_output_elements: int64",
        "prefetch_input_elements: int64"},
       {kFunction, kArguments, kTypes, kShapes, kMetadata}},
      {"ExperimentalParallelInterleaveDataset",
       {kInput, kOthers, "cycle_length: int64", "block_length: int64", "sloppy: bool", "buffer_output_elements: int64",
        "prefetch_input_elements: int64"},
       {kFunction, kArguments, kTypes, kShapes}},
      {"ParallelInterleaveDatasetV2",
       {kInput, kOthers, "cycle_length: int64", "block_length: int64", "num_parallel_calls: int64"},
       {kFunction, kArguments, kTypes, kShapes, "sloppy: bool = false", kMetadata}},
      {"ParallelInterleaveDatasetV3",
       {kInput, kOthers, "cycle_length: int64", "block_length: int64", "num_parallel_calls: int64"},
       {kFunction, kDeterministic, kArguments, kTypes, kShapes, kMetadata}},
      {"ParallelInterleaveDatasetV4",
       {kInput, kOthers, "cycle_length: int64", "block_length: int64", "buffer_output_elements: int64",
        "prefetch_input_elements: int64", "num_parallel_calls: int64"},
       {kFunction, kDeterministic, kArguments, kTypes, kShapes, kMetadata}},
      {"LegacyParallelInterleaveDatasetV2",
       {kInput, kOthers, "cycle_length: int64", "block_length: int64", "buffer_output_elements: int64",
        "prefetch_input_elements: int64"},
       {kFunction, kDeterministic, kArguments, kTypes, kShapes, kMetadata}},
      {"FilterDataset", {kInput, kOthers}, {"predicate: func", kArguments, kTypes, kShapes, kMetadata}},
      {"ParallelFilterDataset",
       {kInput, kOthers, "num_parallel_calls: int64"},
       {"predicate: func", kDeterministic, kArguments, kTypes, kShapes, kMetadata}},
      {"ScanDataset",
       {kInput, "initial_state: Tstate", kOthers},
       {kFunction, "Tstate: list(type) >= 1", kArguments, kTypes, kShapes, "preserve_cardinality: bool = false",
        "use_default_device: bool = true", kMetadata}},
      {"ExperimentalScanDataset",
       {kInput, "initial_state: Tstate", kOthers},
       {kFunction, "Tstate: list(type) >= 1", kArguments, kTypes, kShapes, "preserve_cardinality: bool = false"}},
      {"TakeWhileDataset", {kInput, kOthers}, {"predicate: func", kArguments, kTypes, kShapes, kMetadata}},
      {"ExperimentalTakeWhileDataset", {kInput, kOthers}, {"predicate: func", kArguments, kTypes, kShapes}},
      {"GroupByWindowDataset",
       {kInput, "key_func_other_arguments: Tkey_func_other_arguments",
        "reduce_func_other_arguments: Treduce_func_other_arguments",
        "window_size_func_other_arguments: Twindow_size_func_other_arguments"},
       {"key_func: func", "reduce_func: func", "window_size_func: func", "Tkey_func_other_arguments: list(type) >= 0",
        "Treduce_func_other_arguments: list(type) >= 0", "Twindow_size_func_other_arguments: list(type) >= 0", kTypes,
        kShapes, kMetadata}},
      {"ExperimentalGroupByWindowDataset",
       {kInput, "key_func_other_arguments: Tkey_func_other_arguments",
        "reduce_func_other_arguments: Treduce_func_other_arguments",
        "window_size_func_other_arguments: Twindow_size_func_other_arguments"},
       {"key_func: func", "reduce_func: func", "window_size_func: func", "Tkey_func_other_arguments: list(type) >= 0",
        "Treduce_func_other_arguments: list(type) >= 0", "Twindow_size_func_other_arguments: list(type) >= 0", kTypes,
        kShapes}},
  };
  return list;
}

}  // namespace

absl::Status RegisterDatasetOps(OpRegistry& ops) {
  RETURN_IF_ERROR(RegisterDatasetOpList(ops, Sources()));
  RETURN_IF_ERROR(RegisterDatasetOpList(ops, Transformations()));
  return RegisterDatasetOpList(ops, FunctionTransformations());
}

}  // namespace weir
