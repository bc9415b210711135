// Pooling over rows and columns.
#include "core/op/attr_value.h"
#include "graph/shapes/common_shapes.h"
#include "graph/shapes/shape_inference.h"
#include "kernels/pooling/family.h"

namespace weir {
namespace {

// The gradient has the shape of the input.
absl::Status MaxPoolGradShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape shape, c.WithRank(c.input(0), 4));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

// The windows are inputs; the output's shape is known if they are constants.
absl::Status MaxPoolV2Shape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape in, c.WithRank(c.input(0), 4));
  ASSIGN_OR_RETURN(PartialTensorShape window, c.InputAsShape(1));
  ASSIGN_OR_RETURN(PartialTensorShape strides, c.InputAsShape(2));
  ASSIGN_OR_RETURN(window, c.WithRank(window, 4));
  ASSIGN_OR_RETURN(strides, c.WithRank(strides, 4));
  std::string padding;
  RETURN_IF_ERROR(c.GetAttr("padding", &padding));
  DimVector out(4, -1);
  for (int i = 0; i < 4; ++i) {
    if (strides.dim_size(i) == -1) continue;
    ASSIGN_OR_RETURN(out[i], shapes::WindowedSize(in.dim_size(i), window.dim_size(i), strides.dim_size(i), 1, padding));
  }
  ASSIGN_OR_RETURN(PartialTensorShape shape, PartialTensorShape::Build(out));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterPoolingOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(
      Op("MaxPool")
          .Input("input: T")
          .Output("output: T")
          .Attr("T: {half, bfloat16, float, double, int32, int64, uint8, int16, int8, uint16, qint8} = DT_FLOAT")
          .Attr("ksize: list(int) >= 4")
          .Attr("strides: list(int) >= 4")
          .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
          .Attr("explicit_paddings: list(int) = []")
          .Attr("data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'")
          .Shape(shapes::Pool)));
  RETURN_IF_ERROR(ops.Register(Op("MaxPoolGrad")
                                   .Input("orig_input: T")
                                   .Input("orig_output: T")
                                   .Input("grad: T")
                                   .Output("output: T")
                                   .Attr("ksize: list(int) >= 4")
                                   .Attr("strides: list(int) >= 4")
                                   .Attr("padding: {'SAME', 'VALID', 'EXPLICIT'}")
                                   .Attr("explicit_paddings: list(int) = []")
                                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                                   .Attr("T: realnumbertype = DT_FLOAT")
                                   .Shape(MaxPoolGradShape)));
  RETURN_IF_ERROR(ops.Register(
      Op("MaxPoolV2")
          .Input("input: T")
          .Input("ksize: int32")
          .Input("strides: int32")
          .Output("output: T")
          .Attr("T: {half, bfloat16, float, double, int32, int64, uint8, int16, int8, uint16, qint8} = DT_FLOAT")
          .Attr("padding: {'SAME', 'VALID'}")
          .Attr("data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'")
          .Shape(MaxPoolV2Shape)));
  RETURN_IF_ERROR(ops.Register(Op("MaxPoolGradV2")
                                   .Input("orig_input: T")
                                   .Input("orig_output: T")
                                   .Input("grad: T")
                                   .Input("ksize: int32")
                                   .Input("strides: int32")
                                   .Output("output: T")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                                   .Attr("T: realnumbertype = DT_FLOAT")
                                   .Shape(MaxPoolGradShape)));
  RETURN_IF_ERROR(ops.Register(Op("AvgPool")
                                   .Input("value: T")
                                   .Output("output: T")
                                   .Attr("ksize: list(int) >= 4")
                                   .Attr("strides: list(int) >= 4")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                                   .Attr("T: {half, bfloat16, float, double}")
                                   .Shape(shapes::Pool)));
  RETURN_IF_ERROR(ops.Register(Op("AvgPoolGrad")
                                   .Input("orig_input_shape: int32")
                                   .Input("grad: T")
                                   .Output("output: T")
                                   .Attr("ksize: list(int) >= 4")
                                   .Attr("strides: list(int) >= 4")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                                   .Attr("T: {half, bfloat16, float, double}")
                                   .Shape(shapes::AvgPoolGrad)));
  return absl::OkStatus();
}

}  // namespace weir
