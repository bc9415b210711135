// Rounding to few bits and back.
#include "kernels/device/op_shapes.h"
#include "kernels/quantized/family.h"

namespace weir {
namespace {

absl::Status QuantizeGradShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape shape, c.Merge(c.input(0), c.input(1)));
  c.set_output(0, std::move(shape));
  for (int i : {1, 2}) c.set_output(i, c.input(i + 1));
  return absl::OkStatus();
}

// The range [min, max] of everything, or of each channel.
template <int kFirst, int kRank>
absl::Status FakeQuantShape(InferenceContext& c) {
  for (int i : {1, 2}) RETURN_IF_ERROR(c.WithRank(c.input(kFirst + i), kRank).status());
  PartialTensorShape shape = c.input(kFirst);
  if (kFirst == 1) {
    ASSIGN_OR_RETURN(shape, c.Merge(c.input(0), shape));
  }
  c.set_output(0, shape);
  if (kFirst == 0) return absl::OkStatus();
  for (int i : {1, 2}) {
    PartialTensorShape range = c.input(1 + i);
    if (kRank == 1 && !shape.unknown_rank() && shape.dims() > 0) {
      ASSIGN_OR_RETURN(range, c.Merge(range, c.Vector(shape.dim_size(shape.dims() - 1))));
    }
    c.set_output(i, std::move(range));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterQuantizationOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("QuantizeAndDequantize")
                                   .Input("input: T")
                                   .Output("output: T")
                                   .Attr("signed_input: bool = true")
                                   .Attr("num_bits: int = 8")
                                   .Attr("range_given: bool = false")
                                   .Attr("input_min: float = 0.0")
                                   .Attr("input_max: float = 0.0")
                                   .Attr("T: {bfloat16, half, float, double}")
                                   .Deprecated(22, "Replaced by QuantizeAndDequantizeV2")
                                   .Shape(shapes::Unchanged)));
  for (const char* name : {"QuantizeAndDequantizeV2", "QuantizeAndDequantizeV4"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("input: T")
                                     .Input("input_min: T")
                                     .Input("input_max: T")
                                     .Output("output: T")
                                     .Attr("signed_input: bool = true")
                                     .Attr("num_bits: int = 8")
                                     .Attr("range_given: bool = false")
                                     .Attr("T: {bfloat16, half, float, double}")
                                     .Attr("round_mode: {'HALF_TO_EVEN', 'HALF_UP'} = 'HALF_TO_EVEN'")
                                     .Attr("narrow_range: bool = false")
                                     .Attr("axis: int = -1")
                                     .Shape(shapes::Unchanged)));
  }
  RETURN_IF_ERROR(ops.Register(Op("QuantizeAndDequantizeV3")
                                   .Input("input: T")
                                   .Input("input_min: T")
                                   .Input("input_max: T")
                                   .Input("num_bits: int32")
                                   .Output("output: T")
                                   .Attr("signed_input: bool = true")
                                   .Attr("range_given: bool = true")
                                   .Attr("T: {bfloat16, half, float, double}")
                                   .Attr("narrow_range: bool = false")
                                   .Attr("axis: int = -1")
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("QuantizeAndDequantizeV4Grad")
                                   .Input("gradients: T")
                                   .Input("input: T")
                                   .Input("input_min: T")
                                   .Input("input_max: T")
                                   .Output("input_backprop: T")
                                   .Output("input_min_backprop: T")
                                   .Output("input_max_backprop: T")
                                   .Attr("T: {bfloat16, half, float, double}")
                                   .Attr("axis: int = -1")
                                   .Shape(QuantizeGradShape)));
  RETURN_IF_ERROR(ops.Register(Op("FakeQuantWithMinMaxArgs")
                                   .Input("inputs: float")
                                   .Output("outputs: float")
                                   .Attr("min: float = -6.0")
                                   .Attr("max: float = 6.0")
                                   .Attr("num_bits: int = 8")
                                   .Attr("narrow_range: bool = false")
                                   .Shape(shapes::Unchanged)));
  RETURN_IF_ERROR(ops.Register(Op("FakeQuantWithMinMaxArgsGradient")
                                   .Input("gradients: float")
                                   .Input("inputs: float")
                                   .Output("backprops: float")
                                   .Attr("min: float = -6.0")
                                   .Attr("max: float = 6.0")
                                   .Attr("num_bits: int = 8")
                                   .Attr("narrow_range: bool = false")
                                   .Shape(shapes::MergeAll)));
  RETURN_IF_ERROR(ops.Register(Op("FakeQuantWithMinMaxVars")
                                   .Input("inputs: float")
                                   .Input("min: float")
                                   .Input("max: float")
                                   .Output("outputs: float")
                                   .Attr("num_bits: int = 8")
                                   .Attr("narrow_range: bool = false")
                                   .Shape((FakeQuantShape<0, 0>))));
  RETURN_IF_ERROR(ops.Register(Op("FakeQuantWithMinMaxVarsGradient")
                                   .Input("gradients: float")
                                   .Input("inputs: float")
                                   .Input("min: float")
                                   .Input("max: float")
                                   .Output("backprops_wrt_input: float")
                                   .Output("backprop_wrt_min: float")
                                   .Output("backprop_wrt_max: float")
                                   .Attr("num_bits: int = 8")
                                   .Attr("narrow_range: bool = false")
                                   .Shape((FakeQuantShape<1, 0>))));
  RETURN_IF_ERROR(ops.Register(Op("FakeQuantWithMinMaxVarsPerChannel")
                                   .Input("inputs: float")
                                   .Input("min: float")
                                   .Input("max: float")
                                   .Output("outputs: float")
                                   .Attr("num_bits: int = 8")
                                   .Attr("narrow_range: bool = false")
                                   .Shape((FakeQuantShape<0, 1>))));
  RETURN_IF_ERROR(ops.Register(Op("FakeQuantWithMinMaxVarsPerChannelGradient")
                                   .Input("gradients: float")
                                   .Input("inputs: float")
                                   .Input("min: float")
                                   .Input("max: float")
                                   .Output("backprops_wrt_input: float")
                                   .Output("backprop_wrt_min: float")
                                   .Output("backprop_wrt_max: float")
                                   .Attr("num_bits: int = 8")
                                   .Attr("narrow_range: bool = false")
                                   .Shape((FakeQuantShape<1, 1>))));
  return absl::OkStatus();
}

}  // namespace weir
