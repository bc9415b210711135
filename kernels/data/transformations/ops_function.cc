// Datasets that call a function: map, filter, interleave, scan, group.
#include "core/status.h"
#include "graph/shapes/shape_inference.h"
#include "kernels/data/family.h"
#include "kernels/data/op_lists.h"

namespace weir {
namespace {

using dataset_ops::DatasetOp;
using dataset_ops::kArguments;
using dataset_ops::kDeterministic;
using dataset_ops::kFunction;
using dataset_ops::kInput;
using dataset_ops::kMetadata;
using dataset_ops::kOthers;
using dataset_ops::kShapes;
using dataset_ops::kTypes;
using dataset_ops::RegisterDatasets;

const std::vector<DatasetOp>& FunctionDatasets() {
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

absl::Status RegisterFunctionDatasetOps(OpRegistry& ops) {
  RETURN_IF_ERROR(RegisterDatasets(ops, FunctionDatasets()));
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
  RETURN_IF_ERROR(ops.Register(Op("IndexFlatMapDataset")
                                   .Input("input_dataset: variant")
                                   .Input("map_func_other_args: Tmap_func_args")
                                   .Input("index_map_func_other_args: Tindex_map_func_args")
                                   .Input("output_cardinality: int64")
                                   .Output("handle: variant")
                                   .Attr("map_func: func")
                                   .Attr("index_map_func: func")
                                   .Attr("Tmap_func_args: list(type) >= 0")
                                   .Attr("Tindex_map_func_args: list(type) >= 0")
                                   .Attr(kTypes)
                                   .Attr(kShapes)
                                   .Attr(kMetadata)
                                   .Shape(shapes::Scalar)));
  return absl::OkStatus();
}

}  // namespace weir
