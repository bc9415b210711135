// Real numbers as small integers over a range.
#include "graph/common_shapes.h"
#include "kernels/ops/op_shapes.h"
#include "kernels/ops/rare_families.h"

namespace weir {
namespace {

// Ranges at inputs 1 and 2: scalars, or vectors over the axis.
absl::Status CheckRanges(InferenceContext& c, int64_t axis) {
  for (int i : {1, 2}) {
    ASSIGN_OR_RETURN(PartialTensorShape limit, c.WithRank(c.input(i), axis == -1 ? 0 : 1));
    if (axis == -1 || c.input(0).unknown_rank()) continue;
    if (axis >= c.input(0).dims()) {
      return errors::InvalidArgument("Shape must be at least rank ", axis + 1, " but is rank ", c.input(0).dims());
    }
    RETURN_IF_ERROR(c.MergeDim(c.Dim(limit, 0), c.Dim(c.input(0), static_cast<int>(axis))).status());
  }
  return absl::OkStatus();
}
absl::Status QuantizeShape(InferenceContext& c) {
  int64_t axis;
  RETURN_IF_ERROR(c.GetAttr("axis", &axis));
  if (axis < -1) return errors::InvalidArgument("axis should be at least -1, got ", axis);
  RETURN_IF_ERROR(CheckRanges(c, axis));
  c.set_output(0, c.input(0));
  if (c.num_outputs() == 1) return absl::OkStatus();
  const int64_t slices = axis == -1 || c.input(0).unknown_rank() ? -1 : c.Dim(c.input(0), static_cast<int>(axis));
  for (int i : {1, 2}) c.set_output(i, axis == -1 ? c.Scalar() : c.Vector(slices));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterQuantizedOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("QuantizeV2")
                                   .Input("input: float")
                                   .Input("min_range: float")
                                   .Input("max_range: float")
                                   .Output("output: T")
                                   .Output("output_min: float")
                                   .Output("output_max: float")
                                   .Attr("T: {qint8, quint8, qint32, qint16, quint16}")
                                   .Attr("mode: {'MIN_COMBINED', 'MIN_FIRST', 'SCALED'} = 'MIN_COMBINED'")
                                   .Attr("round_mode: {'HALF_AWAY_FROM_ZERO', 'HALF_TO_EVEN'} = 'HALF_AWAY_FROM_ZERO'")
                                   .Attr("narrow_range: bool = false")
                                   .Attr("axis: int = -1")
                                   .Attr("ensure_minimum_range: float = 0.00999999978")
                                   .Shape(QuantizeShape)));
  RETURN_IF_ERROR(ops.Register(Op("Dequantize")
                                   .Input("input: T")
                                   .Input("min_range: float")
                                   .Input("max_range: float")
                                   .Output("output: dtype")
                                   .Attr("T: {qint8, quint8, qint32, qint16, quint16}")
                                   .Attr("mode: {'MIN_COMBINED', 'MIN_FIRST', 'SCALED'} = 'MIN_COMBINED'")
                                   .Attr("narrow_range: bool = false")
                                   .Attr("axis: int = -1")
                                   .Attr("dtype: {bfloat16, float} = DT_FLOAT")
                                   .Shape(QuantizeShape)));
  return absl::OkStatus();
}

}  // namespace weir
