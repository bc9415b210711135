// Pooling over three dimensions, pooling with argmax, and second-order gradients of maximum pooling.
#include "graph/shapes/common_shapes.h"
#include "kernels/convolution/window_shapes.h"
#include "kernels/pooling/family.h"

namespace weir {
namespace {

absl::Status PoolWindowShape(InferenceContext& c) {
  std::vector<int64_t> ksize, strides;
  RETURN_IF_ERROR(c.GetAttr("ksize", &ksize));
  RETURN_IF_ERROR(c.GetAttr("strides", &strides));
  if (ksize.size() != strides.size()) {
    return errors::InvalidArgument("ksize and strides must have the same length, got ", ksize.size(), " and ",
                                   strides.size());
  }
  return WindowedOutputShape(c, ksize, false);
}
absl::Status ArgmaxShape(InferenceContext& c) {
  RETURN_IF_ERROR(PoolWindowShape(c));
  c.set_output(1, c.output(0));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterVolumePoolingOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("AvgPool3D")
                                   .Input("input: T")
                                   .Output("output: T")
                                   .Attr("ksize: list(int) >= 5")
                                   .Attr("strides: list(int) >= 5")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Attr("data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'")
                                   .Attr("T: {half, bfloat16, float, double}")
                                   .Shape(PoolWindowShape)));
  RETURN_IF_ERROR(ops.Register(Op("MaxPool3D")
                                   .Input("input: T")
                                   .Output("output: T")
                                   .Attr("ksize: list(int) >= 5")
                                   .Attr("strides: list(int) >= 5")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Attr("data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'")
                                   .Attr("T: {half, bfloat16, float}")
                                   .Shape(PoolWindowShape)));
  RETURN_IF_ERROR(ops.Register(Op("AvgPool3DGrad")
                                   .Input("orig_input_shape: int32")
                                   .Input("grad: T")
                                   .Output("output: T")
                                   .Attr("ksize: list(int) >= 5")
                                   .Attr("strides: list(int) >= 5")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Attr("data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'")
                                   .Attr("T: {half, bfloat16, float, double}")
                                   .Shape(VolumeFromSizes<0>)));
  RETURN_IF_ERROR(ops.Register(Op("MaxPool3DGrad")
                                   .Input("orig_input: TInput")
                                   .Input("orig_output: TInput")
                                   .Input("grad: T")
                                   .Output("output: T")
                                   .Attr("ksize: list(int) >= 5")
                                   .Attr("strides: list(int) >= 5")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Attr("data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'")
                                   .Attr("T: {half, bfloat16, float} = DT_FLOAT")
                                   .Attr("TInput: {half, bfloat16, float} = DT_FLOAT")
                                   .Shape((WindowedLikeInput<0, 5>))));
  RETURN_IF_ERROR(ops.Register(Op("MaxPool3DGradGrad")
                                   .Input("orig_input: T")
                                   .Input("orig_output: T")
                                   .Input("grad: T")
                                   .Output("output: T")
                                   .Attr("ksize: list(int) >= 5")
                                   .Attr("strides: list(int) >= 5")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Attr("data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'")
                                   .Attr("T: realnumbertype")
                                   .Shape((WindowedLikeInput<1, 5>))));
  RETURN_IF_ERROR(ops.Register(Op("MaxPoolGradGrad")
                                   .Input("orig_input: T")
                                   .Input("orig_output: T")
                                   .Input("grad: T")
                                   .Output("output: T")
                                   .Attr("ksize: list(int) >= 4")
                                   .Attr("strides: list(int) >= 4")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                                   .Attr("T: realnumbertype")
                                   .Shape((WindowedLikeInput<1, 4>))));
  RETURN_IF_ERROR(ops.Register(Op("MaxPoolGradGradV2")
                                   .Input("orig_input: T")
                                   .Input("orig_output: T")
                                   .Input("grad: T")
                                   .Input("ksize: int32")
                                   .Input("strides: int32")
                                   .Output("output: T")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                                   .Attr("T: realnumbertype")
                                   .Shape((WindowedLikeInput<1, 4>))));
  RETURN_IF_ERROR(ops.Register(Op("MaxPoolWithArgmax")
                                   .Input("input: T")
                                   .Output("output: T")
                                   .Output("argmax: Targmax")
                                   .Attr("ksize: list(int) >= 4")
                                   .Attr("strides: list(int) >= 4")
                                   .Attr("Targmax: {int32, int64} = DT_INT64")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Attr("include_batch_in_index: bool = false")
                                   .Attr("T: realnumbertype")
                                   .Shape(ArgmaxShape)));
  RETURN_IF_ERROR(ops.Register(Op("MaxPoolGradWithArgmax")
                                   .Input("input: T")
                                   .Input("grad: T")
                                   .Input("argmax: Targmax")
                                   .Output("output: T")
                                   .Attr("ksize: list(int) >= 4")
                                   .Attr("strides: list(int) >= 4")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Attr("include_batch_in_index: bool = false")
                                   .Attr("Targmax: {int32, int64}")
                                   .Attr("T: realnumbertype")
                                   .Shape((WindowedLikeInput<0, 4>))));
  RETURN_IF_ERROR(ops.Register(Op("MaxPoolGradGradWithArgmax")
                                   .Input("input: T")
                                   .Input("grad: T")
                                   .Input("argmax: Targmax")
                                   .Output("output: T")
                                   .Attr("ksize: list(int) >= 4")
                                   .Attr("strides: list(int) >= 4")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Attr("include_batch_in_index: bool = false")
                                   .Attr("Targmax: {int32, int64}")
                                   .Attr("T: realnumbertype")
                                   .Shape((WindowedLikeInput<2, 4>))));
  return absl::OkStatus();
}

}  // namespace weir
