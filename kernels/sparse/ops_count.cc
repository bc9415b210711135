// Ops that count values, cross features and combine sets.
#include "kernels/sparse/family.h"
#include "kernels/sparse/sparse_shapes.h"

namespace weir {
namespace {

using op_shapes::kUnknown;
using sparse_shapes::SetSparse;
using sparse_shapes::WithRanks;

// The rows of a matrix are counted apart.
absl::Status DenseCountShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialTensorShape values, c.WithRankAtMost(c.input(0), 2));
  SetSparse(c, 0, values.unknown_rank() ? kUnknown : values.dims());
  return absl::OkStatus();
}

absl::Status SparseCountShape(InferenceContext& c) {
  RETURN_IF_ERROR(WithRanks(c, {2}));
  SetSparse(c, 0, c.Dim(c.input(0), 1));
  return absl::OkStatus();
}

absl::Status RaggedCountShape(InferenceContext& c) {
  SetSparse(c, 0, 2);
  return absl::OkStatus();
}

absl::Status SparseBincountShape(InferenceContext& c) {
  RETURN_IF_ERROR(WithRanks(c, {2, 1, 1}));
  ASSIGN_OR_RETURN(const int64_t size, c.InputAsScalar(3));
  if (c.input_tensor(2) == nullptr || size == kUnknown) return absl::OkStatus();
  ASSIGN_OR_RETURN(const PartialTensorShape dense, c.InputAsShape(2));
  c.set_output(0, dense.dims() == 1 ? c.Vector(size) : c.Matrix(c.Dim(dense, 0), size));
  return absl::OkStatus();
}

absl::Status SparseCrossShape(InferenceContext& c) {
  SetSparse(c, 0, 2);
  return absl::OkStatus();
}

// The result has the operands' rank.
absl::Status SetOperationShape(InferenceContext& c, int64_t rank_a, int64_t rank_b) {
  for (int64_t rank : {rank_a, rank_b}) {
    if (rank != kUnknown && rank < 2) return errors::InvalidArgument("Input has rank ", rank, " < 2");
  }
  ASSIGN_OR_RETURN(const int64_t rank, c.MergeDim(rank_a, rank_b));
  SetSparse(c, 0, rank);
  return absl::OkStatus();
}

absl::Status DenseToDenseShape(InferenceContext& c) {
  return SetOperationShape(c, c.input(0).dims(), c.input(1).dims());
}

absl::Status DenseToSparseShape(InferenceContext& c) {
  RETURN_IF_ERROR(WithRanks(c, {-1, 2, 1, 1}));
  return SetOperationShape(c, c.input(0).dims(), c.Dim(c.input(3), 0));
}

absl::Status SparseToSparseShape(InferenceContext& c) {
  RETURN_IF_ERROR(WithRanks(c, {2, 1, 1, 2, 1, 1}));
  return SetOperationShape(c, c.Dim(c.input(2), 0), c.Dim(c.input(5), 0));
}

}  // namespace

absl::Status RegisterCountOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("DenseCountSparseOutput")
                                   .Input("values: T")
                                   .Input("weights: output_type")
                                   .Output("output_indices: int64")
                                   .Output("output_values: output_type")
                                   .Output("output_dense_shape: int64")
                                   .Attr("T: {int32, int64}")
                                   .Attr("minlength: int >= -1 = -1")
                                   .Attr("maxlength: int >= -1 = -1")
                                   .Attr("binary_output: bool")
                                   .Attr("output_type: {int32, int64, float, double}")
                                   .Shape(DenseCountShape)));
  RETURN_IF_ERROR(ops.Register(Op("SparseCountSparseOutput")
                                   .Input("indices: int64")
                                   .Input("values: T")
                                   .Input("dense_shape: int64")
                                   .Input("weights: output_type")
                                   .Output("output_indices: int64")
                                   .Output("output_values: output_type")
                                   .Output("output_dense_shape: int64")
                                   .Attr("T: {int32, int64}")
                                   .Attr("minlength: int >= -1 = -1")
                                   .Attr("maxlength: int >= -1 = -1")
                                   .Attr("binary_output: bool")
                                   .Attr("output_type: {int32, int64, float, double}")
                                   .Shape(SparseCountShape)));
  RETURN_IF_ERROR(ops.Register(Op("RaggedCountSparseOutput")
                                   .Input("splits: int64")
                                   .Input("values: T")
                                   .Input("weights: output_type")
                                   .Output("output_indices: int64")
                                   .Output("output_values: output_type")
                                   .Output("output_dense_shape: int64")
                                   .Attr("T: {int32, int64}")
                                   .Attr("minlength: int >= -1 = -1")
                                   .Attr("maxlength: int >= -1 = -1")
                                   .Attr("binary_output: bool")
                                   .Attr("output_type: {int32, int64, float, double}")
                                   .Shape(RaggedCountShape)));
  RETURN_IF_ERROR(ops.Register(Op("SparseBincount")
                                   .Input("indices: int64")
                                   .Input("values: Tidx")
                                   .Input("dense_shape: int64")
                                   .Input("size: Tidx")
                                   .Input("weights: T")
                                   .Output("output: T")
                                   .Attr("Tidx: {int32, int64}")
                                   .Attr("T: {int32, int64, float, double}")
                                   .Attr("binary_output: bool = false")
                                   .Shape(SparseBincountShape)));
  RETURN_IF_ERROR(ops.Register(Op("RaggedBincount")
                                   .Input("splits: int64")
                                   .Input("values: Tidx")
                                   .Input("size: Tidx")
                                   .Input("weights: T")
                                   .Output("output: T")
                                   .Attr("Tidx: {int32, int64}")
                                   .Attr("T: {int32, int64, float, double}")
                                   .Attr("binary_output: bool = false")
                                   .Shape(shapes::Unknown)));
  RETURN_IF_ERROR(ops.Register(Op("SparseCross")
                                   .Input("indices: N * int64")
                                   .Input("values: sparse_types")
                                   .Input("shapes: N * int64")
                                   .Input("dense_inputs: dense_types")
                                   .Output("output_indices: int64")
                                   .Output("output_values: out_type")
                                   .Output("output_shape: int64")
                                   .Attr("N: int >= 0")
                                   .Attr("hashed_output: bool")
                                   .Attr("num_buckets: int >= 0")
                                   .Attr("hash_key: int")
                                   .Attr("sparse_types: list({int64, string}) >= 0")
                                   .Attr("dense_types: list({int64, string}) >= 0")
                                   .Attr("out_type: {int64, string}")
                                   .Attr("internal_type: {int64, string}")
                                   .Shape(SparseCrossShape)));
  RETURN_IF_ERROR(ops.Register(Op("SparseCrossV2")
                                   .Input("indices: N * int64")
                                   .Input("values: sparse_types")
                                   .Input("shapes: N * int64")
                                   .Input("dense_inputs: dense_types")
                                   .Input("sep: string")
                                   .Output("output_indices: int64")
                                   .Output("output_values: string")
                                   .Output("output_shape: int64")
                                   .Attr("N: int >= 0")
                                   .Attr("sparse_types: list({int64, string}) >= 0")
                                   .Attr("dense_types: list({int64, string}) >= 0")
                                   .Shape(SparseCrossShape)));
  RETURN_IF_ERROR(ops.Register(Op("SparseCrossHashed")
                                   .Input("indices: N * int64")
                                   .Input("values: sparse_types")
                                   .Input("shapes: N * int64")
                                   .Input("dense_inputs: dense_types")
                                   .Input("num_buckets: int64")
                                   .Input("strong_hash: bool")
                                   .Input("salt: int64")
                                   .Output("output_indices: int64")
                                   .Output("output_values: int64")
                                   .Output("output_shape: int64")
                                   .Attr("N: int >= 0")
                                   .Attr("sparse_types: list({int64, string}) >= 0")
                                   .Attr("dense_types: list({int64, string}) >= 0")
                                   .Shape(SparseCrossShape)));
  RETURN_IF_ERROR(ops.Register(Op("SetSize")
                                   .Input("set_indices: int64")
                                   .Input("set_values: T")
                                   .Input("set_shape: int64")
                                   .Output("size: int32")
                                   .Attr("validate_indices: bool = true")
                                   .Attr("T: {int8, int16, int32, int64, uint8, uint16, string}")
                                   .Shape(shapes::Unknown)));
  RETURN_IF_ERROR(ops.Register(Op("DenseToDenseSetOperation")
                                   .Input("set1: T")
                                   .Input("set2: T")
                                   .Output("result_indices: int64")
                                   .Output("result_values: T")
                                   .Output("result_shape: int64")
                                   .Attr("set_operation: string")
                                   .Attr("validate_indices: bool = true")
                                   .Attr("T: {int8, int16, int32, int64, uint8, uint16, string}")
                                   .Shape(DenseToDenseShape)));
  RETURN_IF_ERROR(ops.Register(Op("DenseToSparseSetOperation")
                                   .Input("set1: T")
                                   .Input("set2_indices: int64")
                                   .Input("set2_values: T")
                                   .Input("set2_shape: int64")
                                   .Output("result_indices: int64")
                                   .Output("result_values: T")
                                   .Output("result_shape: int64")
                                   .Attr("set_operation: string")
                                   .Attr("validate_indices: bool = true")
                                   .Attr("T: {int8, int16, int32, int64, uint8, uint16, string}")
                                   .Shape(DenseToSparseShape)));
  return ops.Register(Op("SparseToSparseSetOperation")
                          .Input("set1_indices: int64")
                          .Input("set1_values: T")
                          .Input("set1_shape: int64")
                          .Input("set2_indices: int64")
                          .Input("set2_values: T")
                          .Input("set2_shape: int64")
                          .Output("result_indices: int64")
                          .Output("result_values: T")
                          .Output("result_shape: int64")
                          .Attr("set_operation: string")
                          .Attr("validate_indices: bool = true")
                          .Attr("T: {int8, int16, int32, int64, uint8, uint16, string}")
                          .Shape(SparseToSparseShape));
}

}  // namespace weir
