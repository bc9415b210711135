// Ops of ragged tensors: nested row splits and dense values.
#include "graph/shapes/common_shapes.h"
#include "kernels/ragged/family.h"
#include "kernels/sparse/sparse_shapes.h"

namespace weir {
namespace {

using op_shapes::kUnknown;
using sparse_shapes::SetSparse;

absl::Status RaggedRangeShape(InferenceContext& c) {
  int64_t rows = kUnknown;
  bool all_scalars = true;
  for (int i = 0; i < 3; ++i) {
    ASSIGN_OR_RETURN(const PartialTensorShape in, c.WithRankAtMost(c.input(i), 1));
    all_scalars = all_scalars && in.dims() == 0;
    if (in.dims() != 1) continue;
    ASSIGN_OR_RETURN(rows, c.MergeDim(rows, c.Dim(in, 0)));
  }
  if (all_scalars) rows = 1;
  c.set_output(0, c.Vector(rows == kUnknown ? kUnknown : rows + 1));
  c.set_output(1, c.Vector(kUnknown));
  return absl::OkStatus();
}

// Inputs [0, levels) are vectors; the values after them have at least one dimension.
absl::StatusOr<int> Levels(InferenceContext& c, absl::string_view attr) {
  int64_t levels;
  RETURN_IF_ERROR(c.GetAttr(attr, &levels));
  for (int i = 0; i < levels; ++i) RETURN_IF_ERROR(c.WithRank(c.input(i), 1).status());
  return static_cast<int>(levels);
}

absl::Status RaggedToSparseShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const int levels, Levels(c, "RAGGED_RANK"));
  ASSIGN_OR_RETURN(const PartialTensorShape values, c.WithRankAtLeast(c.input(levels), 1));
  SetSparse(c, 0, values.unknown_rank() ? kUnknown : levels + values.dims(), shapes::NumElements(values));
  return absl::OkStatus();
}

absl::Status RaggedCrossShape(InferenceContext& c) {
  DataTypeVector ragged;
  RETURN_IF_ERROR(c.GetAttr("ragged_values_types", &ragged));
  PartialTensorShape splits = c.Vector(kUnknown);
  for (size_t i = 0; i < ragged.size(); ++i) {
    ASSIGN_OR_RETURN(splits, c.Merge(splits, c.input(static_cast<int>(ragged.size() + i))));
  }
  c.set_output(0, c.Vector(kUnknown));
  c.set_output(1, std::move(splits));
  return absl::OkStatus();
}

absl::Status RaggedGatherShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const int levels, Levels(c, "PARAMS_RAGGED_RANK"));
  ASSIGN_OR_RETURN(const PartialTensorShape values, c.WithRankAtLeast(c.input(levels), 1));
  const PartialTensorShape& indices = c.input(levels + 1);
  const int outputs = c.num_outputs() - 1;
  if (!indices.unknown_rank() && indices.dims() - 1 + levels != outputs) {
    return errors::InvalidArgument("OUTPUT_RAGGED_RANK must be PARAMS_RAGGED_RANK + indices.rank - 1: ", outputs,
                                   " vs. ", levels, " + ", indices.dims(), " - 1");
  }
  for (int i = 0; i < outputs; ++i) c.set_output(i, c.Vector(kUnknown));
  if (values.unknown_rank()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const PartialTensorShape inner, c.Subshape(values, 1));
  c.set_output(outputs, c.Concatenate(c.Vector(kUnknown), inner));
  return absl::OkStatus();
}

absl::Status RaggedToVariantShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const int levels, Levels(c, "RAGGED_RANK"));
  bool batched;
  RETURN_IF_ERROR(c.GetAttr("batched_input", &batched));
  if (!batched) {
    c.set_output(0, c.Scalar());
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const PartialTensorShape values, c.WithRankAtLeast(c.input(levels), 1));
  const int64_t rows = levels == 0 ? c.Dim(values, 0) : c.Dim(c.input(0), 0);
  c.set_output(0, c.Vector(levels == 0 || rows == kUnknown ? rows : rows - 1));
  return absl::OkStatus();
}

absl::Status RaggedFromVariantShape(InferenceContext& c) {
  const int levels = c.num_outputs() - 1;
  int64_t input_levels;
  RETURN_IF_ERROR(c.GetAttr("input_ragged_rank", &input_levels));
  const PartialTensorShape& encoded = c.input(0);
  if (!encoded.unknown_rank() && input_levels >= 0 && levels > 0 && encoded.dims() + input_levels != levels) {
    return errors::InvalidArgument(
        "output_ragged_rank must be equal to input_ragged_rank + encoded_ragged.dims(); output_ragged_rank: ", levels,
        ", input_ragged_rank: ", input_levels, ", encoded_variant.dims(): ", encoded.dims());
  }
  for (int i = 0; i < levels; ++i) c.set_output(i, c.Vector(kUnknown));
  return absl::OkStatus();
}

absl::Status RaggedToVariantGradientShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape shape, c.InputAsShape(2));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

absl::Status RaggedToTensorShape(InferenceContext& c) {
  std::vector<std::string> types;
  RETURN_IF_ERROR(c.GetAttr("row_partition_types", &types));
  const PartialTensorShape& values = c.input(1);
  if (values.unknown_rank() || types.empty()) return absl::OkStatus();
  const int levels = static_cast<int>(types.size()) - (types[0] == "FIRST_DIM_SIZE" ? 1 : 0);
  DimVector dims(levels + std::max(values.dims(), 1), kUnknown);
  for (int d = 1; d < values.dims(); ++d) dims[levels + d] = values.dim_size(d);
  PartialTensorShape result = c.Of(dims);
  if (c.input(0).dims() == 1) {
    ASSIGN_OR_RETURN(const PartialTensorShape wanted, c.InputAsShape(0));
    ASSIGN_OR_RETURN(result, c.Merge(result, wanted));
  }
  c.set_output(0, std::move(result));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterRaggedOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("RaggedRange")
                                   .Input("starts: T")
                                   .Input("limits: T")
                                   .Input("deltas: T")
                                   .Output("rt_nested_splits: Tsplits")
                                   .Output("rt_dense_values: T")
                                   .Attr("T: {bfloat16, float, double, int32, int64} = DT_INT32")
                                   .Attr("Tsplits: {int32, int64} = DT_INT64")
                                   .Shape(RaggedRangeShape)));
  RETURN_IF_ERROR(ops.Register(Op("RaggedTensorToSparse")
                                   .Input("rt_nested_splits: RAGGED_RANK * Tsplits")
                                   .Input("rt_dense_values: T")
                                   .Output("sparse_indices: int64")
                                   .Output("sparse_values: T")
                                   .Output("sparse_dense_shape: int64")
                                   .Attr("RAGGED_RANK: int >= 1")
                                   .Attr("T: type")
                                   .Attr("Tsplits: {int32, int64} = DT_INT64")
                                   .Shape(RaggedToSparseShape)));
  RETURN_IF_ERROR(ops.Register(Op("RaggedTensorToTensor")
                                   .Input("shape: Tshape")
                                   .Input("values: T")
                                   .Input("default_value: T")
                                   .Input("row_partition_tensors: num_row_partition_tensors * Tindex")
                                   .Output("result: T")
                                   .Attr("T: type")
                                   .Attr("Tindex: {int64, int32}")
                                   .Attr("Tshape: {int64, int32}")
                                   .Attr("num_row_partition_tensors: int >= 1")
                                   .Attr("row_partition_types: list(string)")
                                   .Shape(RaggedToTensorShape)));
  RETURN_IF_ERROR(ops.Register(Op("RaggedCross")
                                   .Input("ragged_values: ragged_values_types")
                                   .Input("ragged_row_splits: ragged_splits_types")
                                   .Input("sparse_indices: Nsparse * int64")
                                   .Input("sparse_values: sparse_values_types")
                                   .Input("sparse_shape: Nsparse * int64")
                                   .Input("dense_inputs: dense_types")
                                   .Output("output_values: out_values_type")
                                   .Output("output_row_splits: out_row_splits_type")
                                   .Attr("Nsparse: int >= 0")
                                   .Attr("input_order: string")
                                   .Attr("hashed_output: bool")
                                   .Attr("num_buckets: int >= 0")
                                   .Attr("hash_key: int")
                                   .Attr("ragged_values_types: list({int64, string}) >= 0")
                                   .Attr("ragged_splits_types: list({int32, int64}) >= 0")
                                   .Attr("sparse_values_types: list({int64, string}) >= 0")
                                   .Attr("dense_types: list({int64, string}) >= 0")
                                   .Attr("out_values_type: {int64, string}")
                                   .Attr("out_row_splits_type: {int32, int64}")
                                   .Shape(RaggedCrossShape)));
  RETURN_IF_ERROR(ops.Register(Op("RaggedGather")
                                   .Input("params_nested_splits: PARAMS_RAGGED_RANK * Tsplits")
                                   .Input("params_dense_values: Tvalues")
                                   .Input("indices: Tindices")
                                   .Output("output_nested_splits: OUTPUT_RAGGED_RANK * Tsplits")
                                   .Output("output_dense_values: Tvalues")
                                   .Attr("Tvalues: type")
                                   .Attr("Tindices: {int32, int64}")
                                   .Attr("Tsplits: {int32, int64} = DT_INT64")
                                   .Attr("PARAMS_RAGGED_RANK: int >= 1")
                                   .Attr("OUTPUT_RAGGED_RANK: int >= 0")
                                   .Shape(RaggedGatherShape)));
  RETURN_IF_ERROR(ops.Register(Op("RaggedTensorToVariant")
                                   .Input("rt_nested_splits: RAGGED_RANK * Tsplits")
                                   .Input("rt_dense_values: Tvalues")
                                   .Output("encoded_ragged: variant")
                                   .Attr("RAGGED_RANK: int >= 0")
                                   .Attr("Tvalues: type")
                                   .Attr("Tsplits: {int32, int64} = DT_INT64")
                                   .Attr("batched_input: bool")
                                   .Shape(RaggedToVariantShape)));
  RETURN_IF_ERROR(ops.Register(Op("RaggedTensorFromVariant")
                                   .Input("encoded_ragged: variant")
                                   .Output("output_nested_splits: output_ragged_rank * Tsplits")
                                   .Output("output_dense_values: Tvalues")
                                   .Attr("input_ragged_rank: int >= -1")
                                   .Attr("output_ragged_rank: int >= 0")
                                   .Attr("Tvalues: type")
                                   .Attr("Tsplits: {int32, int64} = DT_INT64")
                                   .Shape(RaggedFromVariantShape)));
  return ops.Register(Op("RaggedTensorToVariantGradient")
                          .Input("encoded_ragged_grad: variant")
                          .Input("row_splits: Tsplits")
                          .Input("dense_values_shape: int32")
                          .Output("dense_values_grad: Tvalues")
                          .Attr("Tvalues: type")
                          .Attr("Tsplits: {int32, int64} = DT_INT64")
                          .Shape(RaggedToVariantGradientShape));
}

}  // namespace weir
