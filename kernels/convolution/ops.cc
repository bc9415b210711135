// Convolutions over rows and columns.
#include "graph/shapes/common_shapes.h"
#include "kernels/convolution/family.h"

namespace weir {

absl::Status RegisterConvolutionOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("Conv2D")
                                   .Input("input: T")
                                   .Input("filter: T")
                                   .Output("output: T")
                                   .Attr("T: {half, bfloat16, float, double, int32}")
                                   .Attr("strides: list(int)")
                                   .Attr("use_cudnn_on_gpu: bool = true")
                                   .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
                                   .Attr("explicit_paddings: list(int) = []")
                                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                                   .Attr("dilations: list(int) = [1, 1, 1, 1]")
                                   .Shape(shapes::Conv2D)));
  RETURN_IF_ERROR(ops.Register(Op("Conv2DBackpropInput")
                                   .Input("input_sizes: int32")
                                   .Input("filter: T")
                                   .Input("out_backprop: T")
                                   .Output("output: T")
                                   .Attr("T: {half, bfloat16, float, double, int32}")
                                   .Attr("strides: list(int)")
                                   .Attr("use_cudnn_on_gpu: bool = true")
                                   .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
                                   .Attr("explicit_paddings: list(int) = []")
                                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                                   .Attr("dilations: list(int) = [1, 1, 1, 1]")
                                   .Shape(shapes::Conv2DBackpropInput)));
  RETURN_IF_ERROR(ops.Register(Op("Conv2DBackpropFilter")
                                   .Input("input: T")
                                   .Input("filter_sizes: int32")
                                   .Input("out_backprop: T")
                                   .Output("output: T")
                                   .Attr("T: {half, bfloat16, float, double}")
                                   .Attr("strides: list(int)")
                                   .Attr("use_cudnn_on_gpu: bool = true")
                                   .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
                                   .Attr("explicit_paddings: list(int) = []")
                                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                                   .Attr("dilations: list(int) = [1, 1, 1, 1]")
                                   .Shape(shapes::Conv2DBackpropFilter)));
  RETURN_IF_ERROR(ops.Register(Op("DepthwiseConv2dNative")
                                   .Input("input: T")
                                   .Input("filter: T")
                                   .Output("output: T")
                                   .Attr("T: {half, bfloat16, float, double}")
                                   .Attr("strides: list(int)")
                                   .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
                                   .Attr("explicit_paddings: list(int) = []")
                                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                                   .Attr("dilations: list(int) = [1, 1, 1, 1]")
                                   .Shape(shapes::DepthwiseConv2D)));
  RETURN_IF_ERROR(ops.Register(Op("DepthwiseConv2dNativeBackpropInput")
                                   .Input("input_sizes: int32")
                                   .Input("filter: T")
                                   .Input("out_backprop: T")
                                   .Output("output: T")
                                   .Attr("T: {half, bfloat16, float, double}")
                                   .Attr("strides: list(int)")
                                   .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
                                   .Attr("explicit_paddings: list(int) = []")
                                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                                   .Attr("dilations: list(int) = [1, 1, 1, 1]")
                                   .Shape(shapes::Conv2DBackpropInput)));
  RETURN_IF_ERROR(ops.Register(Op("DepthwiseConv2dNativeBackpropFilter")
                                   .Input("input: T")
                                   .Input("filter_sizes: int32")
                                   .Input("out_backprop: T")
                                   .Output("output: T")
                                   .Attr("T: {half, bfloat16, float, double}")
                                   .Attr("strides: list(int)")
                                   .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
                                   .Attr("explicit_paddings: list(int) = []")
                                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                                   .Attr("dilations: list(int) = [1, 1, 1, 1]")
                                   .Shape(shapes::Conv2DBackpropFilter)));
  return absl::OkStatus();
}

}  // namespace weir
