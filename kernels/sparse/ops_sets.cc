// Set operations on the last dimension of dense and sparse tensors.
#include "kernels/sparse/family.h"
#include "kernels/sparse/sparse_shapes.h"

namespace weir {
namespace {

using op_shapes::kUnknown;
using sparse_shapes::SetSparse;
using sparse_shapes::WithRanks;

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

absl::Status RegisterSetOps(OpRegistry& ops) {
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
  RETURN_IF_ERROR(ops.Register(Op("SparseToSparseSetOperation")
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
                                   .Shape(SparseToSparseShape)));
  return absl::OkStatus();
}

}  // namespace weir
