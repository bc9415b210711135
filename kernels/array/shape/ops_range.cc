// Ranges of numbers.
#include <cmath>

#include "kernels/array/family.h"
#include "kernels/device/op_shapes.h"

namespace weir {
namespace {

using op_shapes::ConstantScalar;
using op_shapes::kUnknown;

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
  // Sizes that a double does not hold exactly are left to the kernel.
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

absl::Status RegisterRangeOps(OpRegistry& ops) {
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
