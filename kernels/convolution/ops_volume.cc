// Convolutions over three dimensions, and over any number of them.
#include "kernels/convolution/family.h"
#include "kernels/convolution/window_shapes.h"

namespace weir {
namespace {

absl::Status ConvolutionShape(InferenceContext& c) { return WindowedOutputShape(c, {}, true); }

}  // namespace

absl::Status RegisterVolumeConvolutionOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("Conv3D")
                                   .Input("input: T")
                                   .Input("filter: T")
                                   .Output("output: T")
                                   .Attr("T: {half, bfloat16, float, double}")
                                   .Attr("strides: list(int) >= 5")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Attr("data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'")
                                   .Attr("dilations: list(int) = [1, 1, 1, 1, 1]")
                                   .Shape(ConvolutionShape)));
  RETURN_IF_ERROR(ops.Register(Op("Conv")
                                   .Input("input: T")
                                   .Input("filter: T")
                                   .Output("output: T")
                                   .Attr("T: {half, bfloat16, float, double, int32}")
                                   .Attr("strides: list(int)")
                                   .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
                                   .Attr("explicit_paddings: list(int) = []")
                                   .Attr("data_format: {'CHANNELS_FIRST', 'CHANNELS_LAST'} = 'CHANNELS_LAST'")
                                   .Attr("dilations: list(int) = []")
                                   .Attr("batch_dims: int = 1")
                                   .Attr("groups: int = 1")
                                   .Shape(ConvolutionShape)));
  RETURN_IF_ERROR(ops.Register(Op("Conv3DBackpropInput")
                                   .Input("input: T")
                                   .Input("filter: T")
                                   .Input("out_backprop: T")
                                   .Output("output: T")
                                   .Attr("T: {half, float, double}")
                                   .Attr("strides: list(int) >= 5")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Attr("dilations: list(int) = [1, 1, 1, 1, 1]")
                                   .Deprecated(10, "Use Conv3DBackpropInputV2")
                                   .Shape((WindowedLikeInput<0, 5>))));
  RETURN_IF_ERROR(ops.Register(Op("Conv3DBackpropFilter")
                                   .Input("input: T")
                                   .Input("filter: T")
                                   .Input("out_backprop: T")
                                   .Output("output: T")
                                   .Attr("T: {half, float, double}")
                                   .Attr("strides: list(int) >= 5")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Attr("dilations: list(int) = [1, 1, 1, 1, 1]")
                                   .Deprecated(10, "Use Conv3DBackpropFilterV2")
                                   .Shape((WindowedLikeInput<1, 5>))));
  RETURN_IF_ERROR(ops.Register(Op("Conv3DBackpropInputV2")
                                   .Input("input_sizes: Tshape")
                                   .Input("filter: T")
                                   .Input("out_backprop: T")
                                   .Output("output: T")
                                   .Attr("T: {half, bfloat16, float, double}")
                                   .Attr("strides: list(int) >= 5")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Attr("data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'")
                                   .Attr("dilations: list(int) = [1, 1, 1, 1, 1]")
                                   .Attr("Tshape: {int32, int64} = DT_INT32")
                                   .Shape(VolumeFromSizes<0>)));
  RETURN_IF_ERROR(ops.Register(Op("Conv3DBackpropFilterV2")
                                   .Input("input: T")
                                   .Input("filter_sizes: int32")
                                   .Input("out_backprop: T")
                                   .Output("output: T")
                                   .Attr("T: {half, bfloat16, float, double}")
                                   .Attr("strides: list(int) >= 5")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Attr("data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'")
                                   .Attr("dilations: list(int) = [1, 1, 1, 1, 1]")
                                   .Shape(VolumeFromSizes<1>)));
  return absl::OkStatus();
}

}  // namespace weir
