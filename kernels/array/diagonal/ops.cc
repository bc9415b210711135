// Ops on the diagonals of tensors and of batches of matrices.
#include <algorithm>

#include "kernels/array/family.h"
#include "kernels/device/op_shapes.h"

namespace weir {
namespace {

using op_shapes::kUnknown;

absl::Status DiagShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape diagonal, c.WithRankAtLeast(c.input(0), 1));
  if (!diagonal.unknown_rank()) c.set_output(0, c.Concatenate(diagonal, diagonal));
  return absl::OkStatus();
}

absl::Status DiagPartShape(InferenceContext& c) {
  const PartialTensorShape& input = c.input(0);
  if (input.unknown_rank()) return absl::OkStatus();
  if (input.dims() == 0 || input.dims() % 2 != 0) {
    return errors::InvalidArgument("Input must have even and non-zero rank, input rank is ", input.dims());
  }
  const int half_rank = input.dims() / 2;
  ASSIGN_OR_RETURN(PartialTensorShape first, c.Subshape(input, 0, half_rank));
  ASSIGN_OR_RETURN(PartialTensorShape second, c.Subshape(input, half_rank));
  ASSIGN_OR_RETURN(PartialTensorShape merged, first.MergeWith(second));
  c.set_output(0, std::move(merged));
  return absl::OkStatus();
}

absl::Status MatrixDiagShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape diagonal, c.WithRankAtLeast(c.input(0), 1));
  if (!diagonal.unknown_rank()) c.set_output(0, c.Concatenate(diagonal, c.Vector(c.Dim(diagonal, -1))));
  return absl::OkStatus();
}

int64_t Shorter(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  return a == kUnknown || b == kUnknown ? kUnknown : std::min(a, b);
}

absl::Status MatrixDiagPartShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape input, c.WithRankAtLeast(c.input(0), 2));
  if (input.unknown_rank()) return absl::OkStatus();
  ASSIGN_OR_RETURN(PartialTensorShape batch, c.Subshape(input, 0, -2));
  c.set_output(0, c.Concatenate(batch, c.Vector(Shorter(c.Dim(input, -1), c.Dim(input, -2)))));
  return absl::OkStatus();
}

absl::Status MatrixSetDiagShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape input, c.WithRankAtLeast(c.input(0), 2));
  RETURN_IF_ERROR(c.WithRankAtLeast(c.input(1), 1).status());
  if (!input.unknown_rank()) {
    ASSIGN_OR_RETURN(PartialTensorShape batch, c.Subshape(input, 0, -2));
    const int64_t length = Shorter(c.Dim(input, -1), c.Dim(input, -2));
    RETURN_IF_ERROR(c.Concatenate(batch, c.Vector(length)).MergeWith(c.input(1)).status());
  }
  c.set_output(0, std::move(input));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterDiagonalOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("Diag")
                                   .Input("diagonal: T")
                                   .Output("output: T")
                                   .Attr("T: {bfloat16, half, float, double, int32, int64, complex64, complex128}")
                                   .Shape(DiagShape)));
  RETURN_IF_ERROR(ops.Register(Op("DiagPart")
                                   .Input("input: T")
                                   .Output("diagonal: T")
                                   .Attr("T: {bfloat16, half, float, double, int32, int64, complex64, complex128}")
                                   .Shape(DiagPartShape)));
  RETURN_IF_ERROR(
      ops.Register(Op("MatrixDiag").Input("diagonal: T").Output("output: T").Attr("T: type").Shape(MatrixDiagShape)));
  RETURN_IF_ERROR(ops.Register(
      Op("MatrixDiagPart").Input("input: T").Output("diagonal: T").Attr("T: type").Shape(MatrixDiagPartShape)));
  RETURN_IF_ERROR(ops.Register(Op("MatrixSetDiag")
                                   .Input("input: T")
                                   .Input("diagonal: T")
                                   .Output("output: T")
                                   .Attr("T: type")
                                   .Shape(MatrixSetDiagShape)));
  RETURN_IF_ERROR(ops.Register(Op("MatrixBandPart")
                                   .Input("input: T")
                                   .Input("num_lower: Tindex")
                                   .Input("num_upper: Tindex")
                                   .Output("band: T")
                                   .Attr("T: type")
                                   .Attr("Tindex: {int32, int64} = DT_INT64")
                                   .Shape(shapes::Unchanged)));
  return absl::OkStatus();
}

}  // namespace weir
