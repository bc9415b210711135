// Products of matrices.
#include "kernels/device/op_shapes.h"
#include "kernels/linalg/family.h"

namespace weir {
namespace {

struct Sides {
  int64_t rows, columns;
};

// The matrix product of the last two dimensions of inputs 0 and 1; InvalidArgument where the inner ones differ.
absl::StatusOr<Sides> ProductSides(InferenceContext& c, const char* transpose_a, const char* transpose_b) {
  bool transpose[2];
  RETURN_IF_ERROR(c.GetAttr(transpose_a, &transpose[0]));
  RETURN_IF_ERROR(c.GetAttr(transpose_b, &transpose[1]));
  const auto dim = [&](int i, int which) { return c.Dim(c.input(i), transpose[i] ? -1 - which : -2 + which); };
  absl::StatusOr<int64_t> inner = c.MergeDim(dim(0, 1), dim(1, 0));
  if (!inner.ok()) {
    return errors::InvalidArgument("Dimensions must be equal, but are ", dim(0, 1), " and ", dim(1, 0));
  }
  return Sides{dim(0, 0), dim(1, 1)};
}

absl::Status MatMulShape(InferenceContext& c) {
  for (int i = 0; i < 2; ++i) RETURN_IF_ERROR(c.WithRank(c.input(i), 2).status());
  ASSIGN_OR_RETURN(const Sides sides, ProductSides(c, "transpose_a", "transpose_b"));
  c.set_output(0, c.Matrix(sides.rows, sides.columns));
  return absl::OkStatus();
}

absl::Status BatchShape(InferenceContext& c, bool broadcast) {
  for (int i = 0; i < 2; ++i) RETURN_IF_ERROR(c.WithRankAtLeast(c.input(i), 2).status());
  const PartialTensorShape& x = c.input(0);
  const PartialTensorShape& y = c.input(1);
  if (x.unknown_rank() || y.unknown_rank()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Sides sides, ProductSides(c, "adj_x", "adj_y"));
  ASSIGN_OR_RETURN(PartialTensorShape x_batch, c.Subshape(x, 0, -2));
  ASSIGN_OR_RETURN(PartialTensorShape y_batch, c.Subshape(y, 0, -2));
  ASSIGN_OR_RETURN(PartialTensorShape batch,
                   broadcast ? shapes::Broadcast(x_batch, y_batch) : x_batch.MergeWith(y_batch));
  c.set_output(0, c.Concatenate(batch, c.Matrix(sides.rows, sides.columns)));
  return absl::OkStatus();
}
absl::Status BatchMatMulShape(InferenceContext& c) { return BatchShape(c, false); }
absl::Status BatchMatMulV2Shape(InferenceContext& c) { return BatchShape(c, true); }

}  // namespace

absl::Status RegisterLinearAlgebraOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(
      Op("MatMul")
          .Input("a: T")
          .Input("b: T")
          .Output("product: T")
          .Attr("transpose_a: bool = false")
          .Attr("transpose_b: bool = false")
          .Attr(
              "T: {bfloat16, half, float, double, int32, int64, uint8, uint16, uint32, uint64, complex64, complex128}")
          .Attr("grad_a: bool = false")
          .Attr("grad_b: bool = false")
          .Shape(MatMulShape)));
  RETURN_IF_ERROR(ops.Register(Op("BatchMatMul")
                                   .Input("x: T")
                                   .Input("y: T")
                                   .Output("output: T")
                                   .Attr("T: {bfloat16, half, float, double, int32, int64, complex64, complex128}")
                                   .Attr("adj_x: bool = false")
                                   .Attr("adj_y: bool = false")
                                   .Attr("grad_x: bool = false")
                                   .Attr("grad_y: bool = false")
                                   .Shape(BatchMatMulShape)));
  RETURN_IF_ERROR(ops.Register(
      Op("BatchMatMulV2")
          .Input("x: T")
          .Input("y: T")
          .Output("output: T")
          .Attr("T: {bfloat16, half, float, double, int16, int32, int64, uint8, uint16, uint32, uint64, complex64, "
                "complex128}")
          .Attr("adj_x: bool = false")
          .Attr("adj_y: bool = false")
          .Attr("grad_x: bool = false")
          .Attr("grad_y: bool = false")
          .Shape(BatchMatMulV2Shape)));
  return absl::OkStatus();
}

}  // namespace weir
