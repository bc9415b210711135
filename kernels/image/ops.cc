// Images: sizes, colours and crops.
#include "graph/shapes/common_shapes.h"
#include "kernels/image/family.h"
#include "kernels/image/image_shapes.h"

namespace weir {
namespace {

using image_shapes::BoxCount;
using image_shapes::ResizeShape;
using image_shapes::SizeInput;

absl::Status LikeOriginal(InferenceContext& c) {
  c.set_output(0, c.input(1));
  return absl::OkStatus();
}

absl::Status ColorShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape image, c.WithRankAtLeast(c.input(0), 1));
  if (!image.unknown_rank()) RETURN_IF_ERROR(c.MergeDim(c.Dim(image, -1), 3).status());
  c.set_output(0, std::move(image));
  return absl::OkStatus();
}
absl::Status AdjustShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape image, c.WithRankAtLeast(c.input(0), 3));
  RETURN_IF_ERROR(c.WithRank(c.input(1), 0).status());
  c.set_output(0, std::move(image));
  return absl::OkStatus();
}

absl::Status CropShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape image, c.WithRank(c.input(0), 4));
  ASSIGN_OR_RETURN(const int64_t boxes, BoxCount(c, 1, 2));
  ASSIGN_OR_RETURN(const auto size, SizeInput(c, 3));
  c.set_output(0, c.Of({boxes, size.first, size.second, c.Dim(image, 3)}));
  return absl::OkStatus();
}
absl::Status CropGradImageShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape shape, c.InputAsShape(3));
  if (shape.unknown_rank()) shape = c.UnknownOfRank(4);
  ASSIGN_OR_RETURN(shape, c.WithRank(shape, 4));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}
absl::Status CropGradBoxesShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape boxes, c.WithRank(c.input(2), 2));
  c.set_output(0, std::move(boxes));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterImageOps(OpRegistry& ops) {
  RETURN_IF_ERROR(
      ops.Register(Op("ResizeBilinear")
                       .Input("images: T")
                       .Input("size: int32")
                       .Output("resized_images: float")
                       .Attr("T: {int8, uint8, int16, uint16, int32, int64, bfloat16, half, float, double, bfloat16}")
                       .Attr("align_corners: bool = false")
                       .Attr("half_pixel_centers: bool = false")
                       .Shape(ResizeShape)));
  RETURN_IF_ERROR(ops.Register(Op("ResizeBicubic")
                                   .Input("images: T")
                                   .Input("size: int32")
                                   .Output("resized_images: float")
                                   .Attr("T: {int8, uint8, int16, uint16, int32, int64, half, float, double, bfloat16}")
                                   .Attr("align_corners: bool = false")
                                   .Attr("half_pixel_centers: bool = false")
                                   .Shape(ResizeShape)));
  RETURN_IF_ERROR(ops.Register(Op("ResizeNearestNeighbor")
                                   .Input("images: T")
                                   .Input("size: int32")
                                   .Output("resized_images: T")
                                   .Attr("T: {int8, uint8, int16, uint16, int32, int64, half, float, double, bfloat16}")
                                   .Attr("align_corners: bool = false")
                                   .Attr("half_pixel_centers: bool = false")
                                   .Shape(ResizeShape)));
  RETURN_IF_ERROR(ops.Register(Op("ResizeArea")
                                   .Input("images: T")
                                   .Input("size: int32")
                                   .Output("resized_images: float")
                                   .Attr("T: {int8, uint8, int16, uint16, int32, int64, half, float, double, bfloat16}")
                                   .Attr("align_corners: bool = false")
                                   .Shape(ResizeShape)));
  RETURN_IF_ERROR(ops.Register(Op("ResizeNearestNeighborGrad")
                                   .Input("grads: T")
                                   .Input("size: int32")
                                   .Output("output: T")
                                   .Attr("T: {uint8, int8, int32, half, float, double, bfloat16}")
                                   .Attr("align_corners: bool = false")
                                   .Attr("half_pixel_centers: bool = false")
                                   .Shape(ResizeShape)));
  RETURN_IF_ERROR(ops.Register(Op("ResizeBilinearGrad")
                                   .Input("grads: float")
                                   .Input("original_image: T")
                                   .Output("output: T")
                                   .Attr("T: {float, bfloat16, half, double}")
                                   .Attr("align_corners: bool = false")
                                   .Attr("half_pixel_centers: bool = false")
                                   .Shape(LikeOriginal)));
  RETURN_IF_ERROR(ops.Register(Op("ResizeBicubicGrad")
                                   .Input("grads: float")
                                   .Input("original_image: T")
                                   .Output("output: T")
                                   .Attr("T: {float, double}")
                                   .Attr("align_corners: bool = false")
                                   .Attr("half_pixel_centers: bool = false")
                                   .Shape(LikeOriginal)));
  for (const char* name : {"RGBToHSV", "HSVToRGB"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("images: T")
                                     .Output("output: T")
                                     .Attr("T: {half, bfloat16, float, double} = DT_FLOAT")
                                     .Shape(ColorShape)));
  }
  RETURN_IF_ERROR(ops.Register(Op("AdjustContrastv2")
                                   .Input("images: T")
                                   .Input("contrast_factor: float")
                                   .Output("output: T")
                                   .Attr("T: {half, float} = DT_FLOAT")
                                   .Shape(AdjustShape)));
  RETURN_IF_ERROR(ops.Register(Op("AdjustHue")
                                   .Input("images: T")
                                   .Input("delta: float")
                                   .Output("output: T")
                                   .Attr("T: {half, float} = DT_FLOAT")
                                   .Shape(AdjustShape)));
  RETURN_IF_ERROR(ops.Register(Op("AdjustSaturation")
                                   .Input("images: T")
                                   .Input("scale: float")
                                   .Output("output: T")
                                   .Attr("T: {half, float} = DT_FLOAT")
                                   .Shape(AdjustShape)));
  RETURN_IF_ERROR(ops.Register(Op("CropAndResize")
                                   .Input("image: T")
                                   .Input("boxes: float")
                                   .Input("box_ind: int32")
                                   .Input("crop_size: int32")
                                   .Output("crops: float")
                                   .Attr("T: {uint8, uint16, int8, int16, int32, int64, half, float, double}")
                                   .Attr("method: {'bilinear', 'nearest'} = 'bilinear'")
                                   .Attr("extrapolation_value: float = 0.0")
                                   .Shape(CropShape)));
  RETURN_IF_ERROR(ops.Register(Op("CropAndResizeGradImage")
                                   .Input("grads: float")
                                   .Input("boxes: float")
                                   .Input("box_ind: int32")
                                   .Input("image_size: int32")
                                   .Output("output: T")
                                   .Attr("T: {float, half, double}")
                                   .Attr("method: {'bilinear', 'nearest'} = 'bilinear'")
                                   .Shape(CropGradImageShape)));
  RETURN_IF_ERROR(ops.Register(Op("CropAndResizeGradBoxes")
                                   .Input("grads: float")
                                   .Input("image: T")
                                   .Input("boxes: float")
                                   .Input("box_ind: int32")
                                   .Output("output: float")
                                   .Attr("T: {uint8, uint16, int8, int16, int32, int64, half, float, double}")
                                   .Attr("method: {'bilinear'} = 'bilinear'")
                                   .Shape(CropGradBoxesShape)));
  return absl::OkStatus();
}

}  // namespace weir
