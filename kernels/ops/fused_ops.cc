// Ops that graph rewrites make, here and in TensorFlow's master: a product or a convolution with what follows it.
#include "graph/common_shapes.h"
#include "kernels/ops/numeric_families.h"

namespace weir {

namespace {

absl::Status FusedConvolutionShape(InferenceContext& c) {
  std::string filter_format;
  RETURN_IF_ERROR(c.GetAttr("filter_format", &filter_format));
  return filter_format == "HWIO" ? shapes::Conv2D(c) : shapes::Unknown(c);
}

}  // namespace

absl::Status RegisterFusedOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("_FusedMatMul")
                                   .Input("a: T")
                                   .Input("b: T")
                                   .Input("args: num_args * T")
                                   .Output("product: T")
                                   .Attr("transpose_a: bool = false")
                                   .Attr("transpose_b: bool = false")
                                   .Attr("T: {bfloat16, half, float}")
                                   .Attr("num_args: int >= 0")
                                   .Attr("fused_ops: list(string) = []")
                                   .Attr("epsilon: float = 0.0001")
                                   .Attr("leakyrelu_alpha: float = 0.2")
                                   .Shape(shapes::MatMul)));
  return ops.Register(Op("_FusedConv2D")
                          .Input("input: T")
                          .Input("filter: T")
                          .Input("args: TArgs")
                          .Input("host_args: num_host_args * float")
                          .Output("output: T")
                          .Attr("T: {half, float, double, int8, qint8}")
                          .Attr("TArgs: list(type) >= 1")
                          .Attr("num_args: int >= 0")
                          .Attr("num_host_args: int >= 0 = 0")
                          .Attr("strides: list(int)")
                          .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
                          .Attr("explicit_paddings: list(int) = []")
                          .Attr("data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'")
                          .Attr("filter_format: {'HWIO', 'OIHW', 'OIHW_VECT_I'} = 'HWIO'")
                          .Attr("dilations: list(int) = [1, 1, 1, 1]")
                          .Attr("use_cudnn_on_gpu: bool = true")
                          .Attr("fused_ops: list(string) = []")
                          .Attr("epsilon: float = 0.0001")
                          .Attr("leakyrelu_alpha: float = 0.2")
                          .Shape(FusedConvolutionShape));
}

}  // namespace weir
