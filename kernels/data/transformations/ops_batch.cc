// Batches and windows of elements.
#include "core/status.h"
#include "graph/shapes/shape_inference.h"
#include "kernels/data/family.h"
#include "kernels/data/op_lists.h"

namespace weir {
namespace {

using dataset_ops::DatasetOp;
using dataset_ops::kComponents;
using dataset_ops::kDeterministic;
using dataset_ops::kInput;
using dataset_ops::kMetadata;
using dataset_ops::kShapes;
using dataset_ops::kTypes;
using dataset_ops::RegisterDatasets;

const std::vector<DatasetOp>& BatchDatasets() {
  static const std::vector<DatasetOp> list = {
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
      {"UnbatchDataset", {kInput}, {kTypes, kShapes, kMetadata}},
      {"ExperimentalUnbatchDataset", {kInput}, {kTypes, kShapes}},
      {"WindowDataset",
       {kInput, "size: int64", "shift: int64", "stride: int64", "drop_remainder: bool"},
       {kTypes, kShapes, kMetadata}},
  };
  return list;
}

}  // namespace

absl::Status RegisterBatchDatasetOps(OpRegistry& ops) {
  RETURN_IF_ERROR(RegisterDatasets(ops, BatchDatasets()));
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
  RETURN_IF_ERROR(ops.Register(Op("ExperimentalSlidingWindowDataset")
                                   .Input("input_dataset: variant")
                                   .Input("window_size: int64")
                                   .Input("window_shift: int64")
                                   .Input("window_stride: int64")
                                   .Output("handle: variant")
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
  RETURN_IF_ERROR(ops.Register(Op("RebatchDatasetV2")
                                   .Input("input_dataset: variant")
                                   .Input("batch_sizes: int64")
                                   .Input("drop_remainder: bool")
                                   .Output("handle: variant")
                                   .Attr("output_types: list(type) >= 1")
                                   .Attr("output_shapes: list(shape) >= 1")
                                   .Shape(shapes::Scalar)));
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
  RETURN_IF_ERROR(ops.Register(
      Op("ComputeBatchSize").Input("input_dataset: variant").Output("batch_size: int64").Shape(shapes::Scalar)));
  RETURN_IF_ERROR(ops.Register(Op("WindowOp")
                                   .Input("inputs: Tinputs")
                                   .Output("handle: variant")
                                   .Attr(kTypes)
                                   .Attr(kShapes)
                                   .Attr("Tinputs: list(type) >= 1")
                                   .Shape(shapes::Scalar)));
  return absl::OkStatus();
}

}  // namespace weir
