// Products of matrices, and ranges of numbers.
#include <cmath>

#include "core/numeric_types.h"
#include "kernels/device/op_shapes.h"
#include "kernels/linalg/family.h"

namespace weir {
namespace {

using op_shapes::ConstantScalar;
using op_shapes::kUnknown;

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

double ScalarAsDouble(const Tensor& t) {
  switch (t.dtype()) {
    case DT_FLOAT:
      return t.scalar<float>();
    case DT_DOUBLE:
      return t.scalar<double>();
    case DT_HALF:
      return static_cast<float>(t.scalar<half>());
    case DT_BFLOAT16:
      return static_cast<float>(t.scalar<bfloat16>());
    case DT_INT32:
      return t.scalar<int32_t>();
    case DT_INT64:
      return static_cast<double>(t.scalar<int64_t>());
    default:
      return NAN;
  }
}

absl::Status RangeShape(InferenceContext& c) {
  double values[3];
  bool known = true;
  for (int i = 0; i < 3; ++i) {
    RETURN_IF_ERROR(c.WithRank(c.input(i), 0).status());
    const Tensor* value = c.input_tensor(i);
    known = known && value != nullptr && value->NumElements() == 1;
    if (known) values[i] = ScalarAsDouble(*value);
  }
  c.set_output(0, c.Vector(kUnknown));
  if (!known) return absl::OkStatus();
  const double start = values[0], limit = values[1], delta = values[2];
  if (delta == 0) return errors::InvalidArgument("Requires delta != 0");
  if (delta > 0 ? start > limit : start < limit) {
    return errors::InvalidArgument("Requires start ", delta > 0 ? "<=" : ">=", " limit when delta ",
                                   delta > 0 ? ">" : "<", " 0: ", start, "/", limit);
  }
  const double size = std::ceil(std::abs((limit - start) / delta));
  // Beyond the integers that double holds exactly the kernel decides.
  if (size < 4503599627370496.0) c.set_output(0, c.Vector(static_cast<int64_t>(size)));
  return absl::OkStatus();
}

absl::Status LinSpaceShape(InferenceContext& c) {
  for (int i = 0; i < 2; ++i) RETURN_IF_ERROR(c.WithRank(c.input(i), 0).status());
  ASSIGN_OR_RETURN(const std::optional<int64_t> num, ConstantScalar(c, 2));
  if (num && *num <= 0) return errors::InvalidArgument("Requires num > 0: ", *num);
  c.set_output(0, c.Vector(num.value_or(kUnknown)));
  return absl::OkStatus();
}

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
  RETURN_IF_ERROR(ops.Register(
      Op("Range")
          .Input("start: Tidx")
          .Input("limit: Tidx")
          .Input("delta: Tidx")
          .Output("output: Tidx")
          .Attr("Tidx: {bfloat16, half, float, double, int8, int16, int32, int64, uint16, uint32, uint64} = DT_INT32")
          .Shape(RangeShape)));
  RETURN_IF_ERROR(ops.Register(Op("LinSpace")
                                   .Input("start: T")
                                   .Input("stop: T")
                                   .Input("num: Tidx")
                                   .Output("output: T")
                                   .Attr("T: {bfloat16, half, float, double}")
                                   .Attr("Tidx: {int32, int64} = DT_INT32")
                                   .Shape(LinSpaceShape)));
  return absl::OkStatus();
}

}  // namespace weir
