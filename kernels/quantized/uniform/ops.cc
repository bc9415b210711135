// Arithmetic on integers that stand for real numbers by an affine rule, scale * (q - zero_point).
#include "graph/shapes/common_shapes.h"
#include "kernels/quantized/family.h"
#include "kernels/quantized/uniform/args_convolution.h"

namespace weir {
namespace {

// An operand's axis and bounds; `prefix` names the operand.
void AddQuantization(Op& op, const std::string& prefix) {
  op.Attr(prefix + "quantization_axis: int = -1")
      .Attr(prefix + "quantization_min_val: int")
      .Attr(prefix + "quantization_max_val: int");
}
void AddParams(Op& op, const std::string& prefix) {
  op.Input(prefix + "scales: float").Input(prefix + "zero_points: int32");
}

// That inputs `scales` and the one behind it are scalars, or vectors of `channels`.
absl::Status CheckParams(InferenceContext& c, int scales, int64_t channels) {
  ASSIGN_OR_RETURN(const PartialTensorShape first, c.WithRankAtMost(c.input(scales), 1));
  ASSIGN_OR_RETURN(const PartialTensorShape second, c.WithRankAtMost(c.input(scales + 1), 1));
  if (first.unknown_rank() || second.unknown_rank()) return absl::OkStatus();
  if (first.dims() != second.dims()) {
    return errors::InvalidArgument("scales and zero_points must have same rank.");
  }
  if (first.dims() == 0) return absl::OkStatus();
  RETURN_IF_ERROR(c.MergeDim(c.Dim(first, 0), channels).status());
  return c.MergeDim(c.Dim(second, 0), channels).status();
}

template <bool kHybrid>
absl::Status DotShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialTensorShape lhs, c.WithRank(c.input(0), 2));
  ASSIGN_OR_RETURN(const PartialTensorShape rhs, c.WithRank(c.input(1), 2));
  for (int i = 2; !kHybrid && i < 4; ++i) RETURN_IF_ERROR(c.WithRank(c.input(i), 0).status());
  RETURN_IF_ERROR(c.MergeDim(c.Dim(lhs, 1), c.Dim(rhs, 0)).status());
  const int64_t columns = c.Dim(rhs, 1);
  for (int i = kHybrid ? 2 : 4; i < c.num_inputs(); i += 2) RETURN_IF_ERROR(CheckParams(c, i, columns));
  c.set_output(0, c.Matrix(c.Dim(lhs, 0), columns));
  return absl::OkStatus();
}

template <bool kHybrid>
absl::Status ConvolutionShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialTensorShape image, c.WithRankAtLeast(c.input(0), 2));
  ASSIGN_OR_RETURN(const PartialTensorShape kernel, c.WithRankAtLeast(c.input(1), 2));
  for (int i = 2; !kHybrid && i < 4; ++i) RETURN_IF_ERROR(c.WithRank(c.input(i), 0).status());
  const int first = kHybrid ? 2 : 4;
  for (int i = first; i < c.num_inputs(); i += 2) RETURN_IF_ERROR(CheckParams(c, i, -1));
  if (image.unknown_rank() || kernel.unknown_rank()) {
    if (!image.unknown_rank()) c.set_output(0, c.UnknownOfRank(image.dims()));
    if (!kernel.unknown_rank()) c.set_output(0, c.UnknownOfRank(kernel.dims()));
    return absl::OkStatus();
  }
  if (image.dims() != kernel.dims()) return errors::InvalidArgument("lhs and rhs must have same rank.");
  if (!image.IsFullyDefined() || !kernel.IsFullyDefined()) {
    c.set_output(0, c.UnknownOfRank(image.dims()));
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const TensorShape image_shape, image.AsTensorShape());
  ASSIGN_OR_RETURN(const TensorShape kernel_shape, kernel.AsTensorShape());
  ASSIGN_OR_RETURN(const QuantizedConvolution attrs, QuantizedConvolution::Read(c.node()));
  ASSIGN_OR_RETURN(const QuantizedConvolution convolution, attrs.For(image_shape, kernel_shape));
  const int64_t features = kernel_shape.dim_size(static_cast<int>(convolution.kernel_dims()[0]));
  for (int i = first; i < c.num_inputs(); i += 2) RETURN_IF_ERROR(CheckParams(c, i, features));
  c.set_output(0, convolution.output());
  return absl::OkStatus();
}

absl::Status RegisterElements(OpRegistry& ops) {
  Op quantize("UniformQuantize");
  quantize.Input("input: Tin");
  AddParams(quantize, "");
  quantize.Output("output: Tout").Attr("Tin: {float}").Attr("Tout: {qint8, quint8, qint32}");
  AddQuantization(quantize, "");
  RETURN_IF_ERROR(ops.Register(quantize.Shape(shapes::Unchanged)));

  Op dequantize("UniformDequantize");
  dequantize.Input("input: Tin");
  AddParams(dequantize, "");
  dequantize.Output("output: Tout").Attr("Tin: {qint8, quint8, qint32}").Attr("Tout: {float}");
  AddQuantization(dequantize, "");
  RETURN_IF_ERROR(ops.Register(dequantize.Shape(shapes::Unchanged)));

  Op requantize("UniformRequantize");
  requantize.Input("input: Tin");
  for (const char* prefix : {"input_", "output_"}) AddParams(requantize, prefix);
  requantize.Output("output: Tout").Attr("Tin: {qint8, qint32}").Attr("Tout: {qint8, qint32}");
  for (const char* prefix : {"input_", "output_"}) AddQuantization(requantize, prefix);
  RETURN_IF_ERROR(ops.Register(requantize.Shape(shapes::Unchanged)));

  Op clip("UniformQuantizedClipByValue");
  clip.Input("operand: T").Input("min: T").Input("max: T");
  AddParams(clip, "");
  clip.Output("output: T").Attr("T: {qint32}");
  AddQuantization(clip, "");
  RETURN_IF_ERROR(ops.Register(clip.Shape(shapes::Unchanged)));

  Op add("UniformQuantizedAdd");
  add.Input("lhs: T").Input("rhs: T");
  for (const char* prefix : {"lhs_", "rhs_", "output_"}) AddParams(add, prefix);
  add.Output("output: T");
  for (const char* prefix : {"lhs_", "rhs_", "output_"}) AddQuantization(add, prefix);
  return ops.Register(add.Attr("T: {qint32}").Shape(shapes::BroadcastBinary));
}

void AddWindow(Op& op) {
  op.Attr("window_strides: list(int) = []")
      .Attr("padding: string")
      .Attr("explicit_padding: list(int) = []")
      .Attr("lhs_dilation: list(int) = []")
      .Attr("rhs_dilation: list(int) = []")
      .Attr("batch_group_count: int = 1")
      .Attr("feature_group_count: int = 1")
      .Attr("dimension_numbers: string = ''");
}

// A product or a convolution of two quantised operands.
Op Whole(const char* name) {
  Op op(name);
  op.Input("lhs: Tin").Input("rhs: Tin");
  for (const char* prefix : {"lhs_", "rhs_", "output_"}) AddParams(op, prefix);
  op.Output("output: Tout").Attr("Tin: {qint8}").Attr("Tout: {qint32}");
  return op;
}
// Of a real one and a quantised one.
Op Hybrid(const char* name) {
  Op op(name);
  op.Input("lhs: Tlhs").Input("rhs: Trhs");
  AddParams(op, "rhs_");
  op.Output("output: Tout").Attr("Tlhs: {float}").Attr("Trhs: {qint8}").Attr("Tout: {float}");
  return op;
}

absl::Status RegisterProducts(OpRegistry& ops) {
  Op dot = Whole("UniformQuantizedDot"), hybrid_dot = Hybrid("UniformQuantizedDotHybrid");
  Op convolution = Whole("UniformQuantizedConvolution"), hybrid = Hybrid("UniformQuantizedConvolutionHybrid");
  for (Op* op : {&convolution, &hybrid}) AddWindow(*op);
  for (Op* op : {&dot, &convolution}) {
    for (const char* prefix : {"lhs_", "rhs_", "output_"}) AddQuantization(*op, prefix);
  }
  for (Op* op : {&hybrid_dot, &hybrid}) AddQuantization(*op, "rhs_");
  RETURN_IF_ERROR(ops.Register(dot.Shape(DotShape<false>)));
  RETURN_IF_ERROR(ops.Register(hybrid_dot.Shape(DotShape<true>)));
  RETURN_IF_ERROR(ops.Register(convolution.Shape(ConvolutionShape<false>)));
  return ops.Register(hybrid.Shape(ConvolutionShape<true>));
}

}  // namespace

absl::Status RegisterUniformQuantizedOps(OpRegistry& ops) {
  RETURN_IF_ERROR(RegisterElements(ops));
  return RegisterProducts(ops);
}

}  // namespace weir
