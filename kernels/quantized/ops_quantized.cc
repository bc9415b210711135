// Real numbers as small integers over a range.
#include "graph/shapes/common_shapes.h"
#include "kernels/array/joining/join_shape.h"
#include "kernels/device/op_shapes.h"
#include "kernels/quantized/family.h"

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

// Two scalars behind the first output.
void SetOutputRangeShapes(InferenceContext& c) {
  for (int i : {1, 2}) c.set_output(i, c.Scalar());
}
absl::Status ScalarsFrom(InferenceContext& c, int first) {
  for (int i = first; i < c.num_inputs(); ++i) RETURN_IF_ERROR(c.WithRank(c.input(i), 0).status());
  return absl::OkStatus();
}
absl::Status UnchangedWithRange(InferenceContext& c) {
  const int values = c.num_inputs() % 2 == 0 ? 2 : 1;  // a bias stands beside the first
  RETURN_IF_ERROR(ScalarsFrom(c, values));
  c.set_output(0, c.input(0));
  SetOutputRangeShapes(c);
  return absl::OkStatus();
}
// As the op of real numbers, whose inputs stand first.
template <absl::Status (*kShape)(InferenceContext&), int kInputs>
absl::Status WithRange(InferenceContext& c) {
  RETURN_IF_ERROR(kShape(c));
  RETURN_IF_ERROR(ScalarsFrom(c, kInputs));
  SetOutputRangeShapes(c);
  return absl::OkStatus();
}
absl::Status QuantizedConcatShape(InferenceContext& c) {
  const int count = (c.num_inputs() - 1) / 3;
  RETURN_IF_ERROR(ScalarsFrom(c, 1 + count));
  RETURN_IF_ERROR(op_shapes::JoinShape(c, 1, 1 + count, 0));
  SetOutputRangeShapes(c);
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
  RETURN_IF_ERROR(ops.Register(Op("QuantizedMatMul")
                                   .Input("a: T1")
                                   .Input("b: T2")
                                   .Input("min_a: float")
                                   .Input("max_a: float")
                                   .Input("min_b: float")
                                   .Input("max_b: float")
                                   .Output("out: Toutput")
                                   .Output("min_out: float")
                                   .Output("max_out: float")
                                   .Attr("T1: {qint8, quint8, qint32, qint16, quint16}")
                                   .Attr("T2: {qint8, quint8, qint32, qint16, quint16}")
                                   .Attr("Toutput: {qint8, quint8, qint32, qint16, quint16} = DT_QINT32")
                                   .Attr("transpose_a: bool = false")
                                   .Attr("transpose_b: bool = false")
                                   .Attr("Tactivation: {qint8, quint8, qint32, qint16, quint16} = DT_QUINT8")
                                   .Shape((WithRange<shapes::MatMul, 2>))));
  RETURN_IF_ERROR(ops.Register(Op("QuantizedConv2D")
                                   .Input("input: Tinput")
                                   .Input("filter: Tfilter")
                                   .Input("min_input: float")
                                   .Input("max_input: float")
                                   .Input("min_filter: float")
                                   .Input("max_filter: float")
                                   .Output("output: out_type")
                                   .Output("min_output: float")
                                   .Output("max_output: float")
                                   .Attr("Tinput: {qint8, quint8, qint32, qint16, quint16}")
                                   .Attr("Tfilter: {qint8, quint8, qint32, qint16, quint16}")
                                   .Attr("out_type: {qint8, quint8, qint32, qint16, quint16} = DT_QINT32")
                                   .Attr("strides: list(int)")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Attr("dilations: list(int) = [1, 1, 1, 1]")
                                   .Shape((WithRange<shapes::Conv2D, 2>))));
  RETURN_IF_ERROR(ops.Register(Op("QuantizedBiasAdd")
                                   .Input("input: T1")
                                   .Input("bias: T2")
                                   .Input("min_input: float")
                                   .Input("max_input: float")
                                   .Input("min_bias: float")
                                   .Input("max_bias: float")
                                   .Output("output: out_type")
                                   .Output("min_out: float")
                                   .Output("max_out: float")
                                   .Attr("T1: {qint8, quint8, qint32, qint16, quint16}")
                                   .Attr("T2: {qint8, quint8, qint32, qint16, quint16}")
                                   .Attr("out_type: {qint8, quint8, qint32, qint16, quint16}")
                                   .Shape(UnchangedWithRange)));
  for (const char* name : {"QuantizedRelu", "QuantizedRelu6"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("features: Tinput")
                                     .Input("min_features: float")
                                     .Input("max_features: float")
                                     .Output("activations: out_type")
                                     .Output("min_activations: float")
                                     .Output("max_activations: float")
                                     .Attr("Tinput: {qint8, quint8, qint32, qint16, quint16}")
                                     .Attr("out_type: {qint8, quint8, qint32, qint16, quint16} = DT_QUINT8")
                                     .Shape(UnchangedWithRange)));
  }
  for (const char* name : {"QuantizedMaxPool", "QuantizedAvgPool"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("input: T")
                                     .Input("min_input: float")
                                     .Input("max_input: float")
                                     .Output("output: T")
                                     .Output("min_output: float")
                                     .Output("max_output: float")
                                     .Attr("T: {qint8, quint8, qint32, qint16, quint16}")
                                     .Attr("ksize: list(int)")
                                     .Attr("strides: list(int)")
                                     .Attr("padding: {'SAME', 'VALID'}")
                                     .Shape((WithRange<shapes::Pool, 1>))));
  }
  RETURN_IF_ERROR(ops.Register(Op("QuantizedReshape")
                                   .Input("tensor: T")
                                   .Input("shape: Tshape")
                                   .Input("input_min: float")
                                   .Input("input_max: float")
                                   .Output("output: T")
                                   .Output("output_min: float")
                                   .Output("output_max: float")
                                   .Attr("T: type")
                                   .Attr("Tshape: {int32, int64} = DT_INT32")
                                   .Shape((WithRange<shapes::Reshape, 2>))));
  RETURN_IF_ERROR(ops.Register(Op("QuantizedConcat")
                                   .Input("concat_dim: int32")
                                   .Input("values: N * T")
                                   .Input("input_mins: N * float")
                                   .Input("input_maxes: N * float")
                                   .Output("output: T")
                                   .Output("output_min: float")
                                   .Output("output_max: float")
                                   .Attr("N: int >= 2")
                                   .Attr("T: type")
                                   .Shape(QuantizedConcatShape)));
  RETURN_IF_ERROR(ops.Register(Op("Requantize")
                                   .Input("input: Tinput")
                                   .Input("input_min: float")
                                   .Input("input_max: float")
                                   .Input("requested_output_min: float")
                                   .Input("requested_output_max: float")
                                   .Output("output: out_type")
                                   .Output("output_min: float")
                                   .Output("output_max: float")
                                   .Attr("Tinput: {qint8, quint8, qint32, qint16, quint16}")
                                   .Attr("out_type: {qint8, quint8, qint32, qint16, quint16}")
                                   .Shape(UnchangedWithRange)));
  RETURN_IF_ERROR(ops.Register(Op("QuantizeDownAndShrinkRange")
                                   .Input("input: Tinput")
                                   .Input("input_min: float")
                                   .Input("input_max: float")
                                   .Output("output: out_type")
                                   .Output("output_min: float")
                                   .Output("output_max: float")
                                   .Attr("Tinput: {qint8, quint8, qint32, qint16, quint16}")
                                   .Attr("out_type: {qint8, quint8, qint32, qint16, quint16}")
                                   .Shape(UnchangedWithRange)));
  RETURN_IF_ERROR(ops.Register(Op("RequantizationRange")
                                   .Input("input: Tinput")
                                   .Input("input_min: float")
                                   .Input("input_max: float")
                                   .Output("output_min: float")
                                   .Output("output_max: float")
                                   .Attr("Tinput: {qint8, quint8, qint32, qint16, quint16}")
                                   .Shape(shapes::Scalar)));
  return absl::OkStatus();
}

}  // namespace weir
