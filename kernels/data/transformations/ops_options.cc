// Datasets that yield elements of their input unchanged: options, pauses, samples, thread pools.
#include "core/status.h"
#include "graph/shapes/shape_inference.h"
#include "kernels/data/family.h"
#include "kernels/data/op_lists.h"

namespace weir {
namespace {

using dataset_ops::DatasetOp;
using dataset_ops::kInput;
using dataset_ops::kMetadata;
using dataset_ops::kShapes;
using dataset_ops::kTypes;
using dataset_ops::RegisterDatasets;

const std::vector<DatasetOp>& DatasetsOfUnchangedElements() {
  static const std::vector<DatasetOp> list = {
      {"OptionsDataset", {kInput}, {"serialized_options: string", kTypes, kShapes, kMetadata}},
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
      {"IgnoreErrorsDataset", {kInput}, {kTypes, kShapes, "log_warning: bool = false"}},
      {"ExperimentalIgnoreErrorsDataset", {kInput}, {kTypes, kShapes, "log_warning: bool = false"}},
      {"UniqueDataset", {kInput}, {kTypes, kShapes, kMetadata}},
      {"ExperimentalUniqueDataset", {kInput}, {kTypes, kShapes}},
  };
  return list;
}

}  // namespace

absl::Status RegisterUnchangedElementOps(OpRegistry& ops) {
  RETURN_IF_ERROR(RegisterDatasets(ops, DatasetsOfUnchangedElements()));
  for (const char* name : {"SleepDataset", "ExperimentalSleepDataset"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("input_dataset: variant")
                                     .Input("sleep_microseconds: int64")
                                     .Output("handle: variant")
                                     .Attr("output_types: list(type) >= 1")
                                     .Attr("output_shapes: list(shape) >= 1")
                                     .Shape(shapes::Scalar)));
  }
  RETURN_IF_ERROR(ops.Register(Op("SamplingDataset")
                                   .Input("input_dataset: variant")
                                   .Input("rate: float")
                                   .Input("seed: int64")
                                   .Input("seed2: int64")
                                   .Output("handle: variant")
                                   .Attr("output_types: list(type) >= 1")
                                   .Attr("output_shapes: list(shape) >= 1")
                                   .Shape(shapes::Scalar)));
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
  RETURN_IF_ERROR(ops.Register(
      Op("GetOptions").Input("input_dataset: variant").Output("serialized_options: string").Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(
      Op("WrapDatasetVariant").Input("input_handle: variant").Output("output_handle: variant").Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("UnwrapDatasetVariant")
                                   .Input("input_handle: variant")
                                   .Output("output_handle: variant")
                                   .Shape(shapes::Scalar)));
  return absl::OkStatus();
}

}  // namespace weir
