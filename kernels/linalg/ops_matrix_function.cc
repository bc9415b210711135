// Lu, Eig, MatrixSquareRoot, MatrixLogarithm and the tridiagonal ops.
#include "kernels/device/op_shapes.h"
#include "kernels/linalg/family.h"

namespace weir {
namespace {

// A batch of square matrices.
absl::StatusOr<PartialTensorShape> Square(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape input, c.WithRankAtLeast(c.input(0), 2));
  if (input.unknown_rank()) return input;
  ASSIGN_OR_RETURN(const int64_t n, c.MergeDim(c.Dim(input, -1), c.Dim(input, -2)));
  DimVector dims = op_shapes::Dims(input);
  dims[dims.size() - 1] = dims[dims.size() - 2] = n;
  return c.Of(dims);
}
absl::Status SquareShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape shape, Square(c));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}
absl::Status LuShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape shape, Square(c));
  ASSIGN_OR_RETURN(PartialTensorShape order, c.Subshape(shape, 0, -1));
  c.set_output(0, std::move(shape));
  c.set_output(1, std::move(order));
  return absl::OkStatus();
}
absl::Status EigShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape shape, Square(c));
  ASSIGN_OR_RETURN(PartialTensorShape values, c.Subshape(shape, 0, -1));
  bool vectors;
  RETURN_IF_ERROR(c.GetAttr("compute_v", &vectors));
  c.set_output(0, std::move(values));
  c.set_output(1, vectors ? std::move(shape) : c.Vector(0));
  return absl::OkStatus();
}
absl::Status TridiagonalMatMulShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape right, c.WithRankAtLeast(c.input(3), 2));
  for (int i = 0; i < 3; ++i) RETURN_IF_ERROR(c.WithRankAtLeast(c.input(i), 2).status());
  c.set_output(0, std::move(right));
  return absl::OkStatus();
}
absl::Status TridiagonalSolveShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape diagonals, c.WithRankAtLeast(c.input(0), 2));
  ASSIGN_OR_RETURN(PartialTensorShape right, c.WithRankAtLeast(c.input(1), 2));
  if (!diagonals.unknown_rank()) RETURN_IF_ERROR(c.MergeDim(c.Dim(diagonals, -2), 3).status());
  if (!diagonals.unknown_rank() && !right.unknown_rank()) {
    RETURN_IF_ERROR(c.MergeDim(c.Dim(diagonals, -1), c.Dim(right, -2)).status());
  }
  c.set_output(0, std::move(right));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterMatrixFunctionOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("Lu")
                                   .Input("input: T")
                                   .Output("lu: T")
                                   .Output("p: output_idx_type")
                                   .Attr("T: {double, float, half, complex64, complex128}")
                                   .Attr("output_idx_type: {int32, int64} = DT_INT32")
                                   .Shape(LuShape)));
  RETURN_IF_ERROR(ops.Register(Op("Eig")
                                   .Input("input: T")
                                   .Output("e: Tout")
                                   .Output("v: Tout")
                                   .Attr("compute_v: bool = true")
                                   .Attr("T: {float, double, complex64, complex128}")
                                   .Attr("Tout: {complex64, complex128}")
                                   .Shape(EigShape)));
  RETURN_IF_ERROR(ops.Register(Op("MatrixSquareRoot")
                                   .Input("input: T")
                                   .Output("output: T")
                                   .Attr("T: {double, float, half, complex64, complex128}")
                                   .Shape(SquareShape)));
  RETURN_IF_ERROR(ops.Register(Op("MatrixLogarithm")
                                   .Input("input: T")
                                   .Output("output: T")
                                   .Attr("T: {complex64, complex128}")
                                   .Shape(SquareShape)));
  RETURN_IF_ERROR(ops.Register(Op("TridiagonalMatMul")
                                   .Input("superdiag: T")
                                   .Input("maindiag: T")
                                   .Input("subdiag: T")
                                   .Input("rhs: T")
                                   .Output("output: T")
                                   .Attr("T: {double, float, complex64, complex128}")
                                   .Shape(TridiagonalMatMulShape)));
  RETURN_IF_ERROR(ops.Register(Op("TridiagonalSolve")
                                   .Input("diagonals: T")
                                   .Input("rhs: T")
                                   .Output("output: T")
                                   .Attr("partial_pivoting: bool = true")
                                   .Attr("perturb_singular: bool = false")
                                   .Attr("T: {double, float, complex64, complex128}")
                                   .Shape(TridiagonalSolveShape)));
  return absl::OkStatus();
}

}  // namespace weir
