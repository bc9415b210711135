// Arithmetic of sparse tensors.
#include "graph/shapes/common_shapes.h"
#include "kernels/sparse/family.h"
#include "kernels/sparse/sparse_shapes.h"

namespace weir {
namespace {

using op_shapes::kUnknown;
using sparse_shapes::SetSparse;
using sparse_shapes::WithRanks;

absl::Status SparseAddShape(InferenceContext& c) {
  RETURN_IF_ERROR(WithRanks(c, {-1, -1, 1}));
  SetSparse(c, 0, c.Dim(c.input(2), 0));
  return absl::OkStatus();
}

absl::Status SparseAddGradShape(InferenceContext& c) {
  RETURN_IF_ERROR(WithRanks(c, {-1, 2, 2}));
  c.set_output(0, c.Vector(c.Dim(c.input(1), 0)));
  c.set_output(1, c.Vector(c.Dim(c.input(2), 0)));
  return absl::OkStatus();
}

absl::Status SparseSliceGradShape(InferenceContext& c) {
  RETURN_IF_ERROR(WithRanks(c, {-1, 2}));
  c.set_output(0, c.Vector(c.Dim(c.input(1), 0)));
  return absl::OkStatus();
}

absl::Status SparseTensorDenseAddShape(InferenceContext& c) {
  c.set_output(0, c.input(3));
  return absl::OkStatus();
}

absl::Status SparseTensorDenseMatMulShape(InferenceContext& c) {
  RETURN_IF_ERROR(WithRanks(c, {2, 1}));
  bool adjoint_a, adjoint_b;
  RETURN_IF_ERROR(c.GetAttr("adjoint_a", &adjoint_a));
  RETURN_IF_ERROR(c.GetAttr("adjoint_b", &adjoint_b));
  ASSIGN_OR_RETURN(PartialTensorShape a, c.InputAsShape(2));
  ASSIGN_OR_RETURN(a, c.WithRank(a, 2));
  ASSIGN_OR_RETURN(const PartialTensorShape b, c.WithRank(c.input(3), 2));
  RETURN_IF_ERROR(c.MergeDim(c.Dim(a, adjoint_a ? 0 : 1), c.Dim(b, adjoint_b ? 1 : 0)).status());
  c.set_output(0, c.Matrix(c.Dim(a, adjoint_a ? 1 : 0), c.Dim(b, adjoint_b ? 0 : 1)));
  return absl::OkStatus();
}

absl::Status ValuesShape(InferenceContext& c) {
  RETURN_IF_ERROR(WithRanks(c, {2}));
  c.set_output(0, c.Vector(c.Dim(c.input(0), 0)));
  return absl::OkStatus();
}

absl::Status SparseReduceShape(InferenceContext& c) {
  const Tensor* const shape = c.input_tensor(2);
  std::optional<std::vector<int64_t>> axes = op_shapes::ConstantVector(c, 3);
  if (shape == nullptr || !axes) return absl::OkStatus();
  bool keep_dims;
  RETURN_IF_ERROR(c.GetAttr("keep_dims", &keep_dims));
  ASSIGN_OR_RETURN(const PartialTensorShape full, c.InputAsShape(2));
  for (int64_t& axis : *axes) axis = full.dims() > 0 ? (axis % full.dims() + full.dims()) % full.dims() : axis;
  ASSIGN_OR_RETURN(PartialTensorShape reduced, shapes::ReducedShape(full, *axes, keep_dims));
  c.set_output(0, std::move(reduced));
  return absl::OkStatus();
}

absl::Status SparseSoftmaxShape(InferenceContext& c) {
  RETURN_IF_ERROR(WithRanks(c, {2, 1}));
  c.set_output(0, c.input(1));
  return absl::OkStatus();
}

absl::Status SparseSparseShape(InferenceContext& c) {
  RETURN_IF_ERROR(WithRanks(c, {2, 1, 1, 2, 1, 1}));
  c.set_output(0, c.Matrix(kUnknown, kUnknown));
  c.set_output(1, c.Vector(kUnknown));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterSparseMathOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("SparseAdd")
                                   .Input("a_indices: int64")
                                   .Input("a_values: T")
                                   .Input("a_shape: int64")
                                   .Input("b_indices: int64")
                                   .Input("b_values: T")
                                   .Input("b_shape: int64")
                                   .Input("thresh: Treal")
                                   .Output("sum_indices: int64")
                                   .Output("sum_values: T")
                                   .Output("sum_shape: int64")
                                   .Attr("T: numbertype")
                                   .Attr("Treal: realnumbertype")
                                   .Shape(SparseAddShape)));
  RETURN_IF_ERROR(ops.Register(Op("SparseAddGrad")
                                   .Input("backprop_val_grad: T")
                                   .Input("a_indices: int64")
                                   .Input("b_indices: int64")
                                   .Input("sum_indices: int64")
                                   .Output("a_val_grad: T")
                                   .Output("b_val_grad: T")
                                   .Attr("T: numbertype")
                                   .Shape(SparseAddGradShape)));
  RETURN_IF_ERROR(ops.Register(Op("SparseSliceGrad")
                                   .Input("backprop_val_grad: T")
                                   .Input("input_indices: int64")
                                   .Input("input_start: int64")
                                   .Input("output_indices: int64")
                                   .Output("val_grad: T")
                                   .Attr("T: numbertype")
                                   .Shape(SparseSliceGradShape)));
  RETURN_IF_ERROR(ops.Register(Op("SparseTensorDenseAdd")
                                   .Input("a_indices: Tindices")
                                   .Input("a_values: T")
                                   .Input("a_shape: Tindices")
                                   .Input("b: T")
                                   .Output("output: T")
                                   .Attr("T: numbertype")
                                   .Attr("Tindices: {int32, int64}")
                                   .Shape(SparseTensorDenseAddShape)));
  RETURN_IF_ERROR(ops.Register(Op("SparseTensorDenseMatMul")
                                   .Input("a_indices: Tindices")
                                   .Input("a_values: T")
                                   .Input("a_shape: int64")
                                   .Input("b: T")
                                   .Output("product: T")
                                   .Attr("T: type")
                                   .Attr("Tindices: {int32, int64} = DT_INT64")
                                   .Attr("adjoint_a: bool = false")
                                   .Attr("adjoint_b: bool = false")
                                   .Shape(SparseTensorDenseMatMulShape)));
  RETURN_IF_ERROR(ops.Register(Op("SparseMatMul")
                                   .Input("a: Ta")
                                   .Input("b: Tb")
                                   .Output("product: float")
                                   .Attr("transpose_a: bool = false")
                                   .Attr("transpose_b: bool = false")
                                   .Attr("a_is_sparse: bool = false")
                                   .Attr("b_is_sparse: bool = false")
                                   .Attr("Ta: {float, bfloat16} = DT_FLOAT")
                                   .Attr("Tb: {float, bfloat16} = DT_FLOAT")
                                   .Shape(shapes::MatMul)));
  for (const char* name : {"SparseDenseCwiseMul", "SparseDenseCwiseAdd", "SparseDenseCwiseDiv"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("sp_indices: int64")
                                     .Input("sp_values: T")
                                     .Input("sp_shape: int64")
                                     .Input("dense: T")
                                     .Output("output: T")
                                     .Attr("T: numbertype")
                                     .Shape(ValuesShape)));
  }
  RETURN_IF_ERROR(ops.Register(Op("SparseReduceSum")
                                   .Input("input_indices: int64")
                                   .Input("input_values: T")
                                   .Input("input_shape: int64")
                                   .Input("reduction_axes: int32")
                                   .Output("output: T")
                                   .Attr("keep_dims: bool = false")
                                   .Attr("T: numbertype")
                                   .Shape(SparseReduceShape)));
  RETURN_IF_ERROR(ops.Register(Op("SparseReduceMax")
                                   .Input("input_indices: int64")
                                   .Input("input_values: T")
                                   .Input("input_shape: int64")
                                   .Input("reduction_axes: int32")
                                   .Output("output: T")
                                   .Attr("keep_dims: bool = false")
                                   .Attr("T: realnumbertype")
                                   .Shape(SparseReduceShape)));
  RETURN_IF_ERROR(ops.Register(Op("SparseReduceSumSparse")
                                   .Input("input_indices: int64")
                                   .Input("input_values: T")
                                   .Input("input_shape: int64")
                                   .Input("reduction_axes: int32")
                                   .Output("output_indices: int64")
                                   .Output("output_values: T")
                                   .Output("output_shape: int64")
                                   .Attr("keep_dims: bool = false")
                                   .Attr("T: numbertype")
                                   .Shape(shapes::Unknown)));
  RETURN_IF_ERROR(ops.Register(Op("SparseReduceMaxSparse")
                                   .Input("input_indices: int64")
                                   .Input("input_values: T")
                                   .Input("input_shape: int64")
                                   .Input("reduction_axes: int32")
                                   .Output("output_indices: int64")
                                   .Output("output_values: T")
                                   .Output("output_shape: int64")
                                   .Attr("keep_dims: bool = false")
                                   .Attr("T: realnumbertype")
                                   .Shape(shapes::Unknown)));
  RETURN_IF_ERROR(ops.Register(Op("SparseSoftmax")
                                   .Input("sp_indices: int64")
                                   .Input("sp_values: T")
                                   .Input("sp_shape: int64")
                                   .Output("output: T")
                                   .Attr("T: {half, float, double}")
                                   .Shape(SparseSoftmaxShape)));
  RETURN_IF_ERROR(ops.Register(Op("SparseSparseMaximum")
                                   .Input("a_indices: int64")
                                   .Input("a_values: T")
                                   .Input("a_shape: int64")
                                   .Input("b_indices: int64")
                                   .Input("b_values: T")
                                   .Input("b_shape: int64")
                                   .Output("output_indices: int64")
                                   .Output("output_values: T")
                                   .Attr("T: realnumbertype")
                                   .Shape(SparseSparseShape)));
  return ops.Register(Op("SparseSparseMinimum")
                          .Input("a_indices: int64")
                          .Input("a_values: T")
                          .Input("a_shape: int64")
                          .Input("b_indices: int64")
                          .Input("b_values: T")
                          .Input("b_shape: int64")
                          .Output("output_indices: int64")
                          .Output("output_values: T")
                          .Attr("T: numbertype")
                          .Shape(SparseSparseShape));
}

}  // namespace weir
