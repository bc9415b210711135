// A convolution with the ops that follow it, as graph rewrites make it here and in TensorFlow's master. A worker
// expands those that its device has no kernel for (graph/fused/expand_fused_ops.h).
#include "graph/shapes/common_shapes.h"
#include "kernels/convolution/family.h"

namespace weir {
namespace {

absl::Status FusedConvolutionShape(InferenceContext& c) {
  std::string filter_format;
  RETURN_IF_ERROR(c.GetAttr("filter_format", &filter_format));
  return filter_format == "HWIO" ? shapes::Conv2D(c) : shapes::Unknown(c);
}

Op WithFusedSteps(Op op) {
  return op.Attr("fused_ops: list(string) = []").Attr("epsilon: float = 0.0001").Attr("leakyrelu_alpha: float = 0.2");
}

}  // namespace

absl::Status RegisterFusedConvolutionOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("_FusedConv2D")
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
                                   .Shape(FusedConvolutionShape)));
  RETURN_IF_ERROR(ops.Register(WithFusedSteps(Op("_FusedDepthwiseConv2dNative")
                                                  .Input("input: T")
                                                  .Input("filter: T")
                                                  .Input("args: num_args * T")
                                                  .Output("output: T")
                                                  .Attr("T: {half, bfloat16, float, double}")
                                                  .Attr("num_args: int >= 0")
                                                  .Attr("strides: list(int)")
                                                  .Attr("padding: {'SAME', 'VALID'}")
                                                  .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                                                  .Attr("dilations: list(int) = [1, 1, 1, 1]"))
                                   .Shape(shapes::Unknown)));
  RETURN_IF_ERROR(ops.Register(WithFusedSteps(Op("_FusedConv3D")
                                                  .Input("input: T")
                                                  .Input("filter: T")
                                                  .Input("args: num_args * T")
                                                  .Output("output: T")
                                                  .Attr("T: {bfloat16, float, half}")
                                                  .Attr("num_args: int >= 0")
                                                  .Attr("strides: list(int) >= 5")
                                                  .Attr("padding: {'SAME', 'VALID'}")
                                                  .Attr("data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'")
                                                  .Attr("dilations: list(int) = [1, 1, 1, 1, 1]")
                                                  .Attr("padding_list: list(int) = []"))
                                   .Shape(shapes::Unknown)));
  return absl::OkStatus();
}

}  // namespace weir
