// Images: sizes, colours, crops and boxes.
#include "graph/common_shapes.h"
#include "kernels/device/op_shapes.h"
#include "kernels/image/family.h"

namespace weir {
namespace {

using op_shapes::kUnknown;

// Rows and columns that input i, a constant of two elements, holds.
absl::StatusOr<std::pair<int64_t, int64_t>> SizeInput(InferenceContext& c, int i) {
  ASSIGN_OR_RETURN(PartialTensorShape shape, c.WithRank(c.input(i), 1));
  RETURN_IF_ERROR(c.MergeDim(c.Dim(shape, 0), 2).status());
  const auto values = op_shapes::ConstantVector(c, i);
  if (!values || values->size() != 2) return std::pair{kUnknown, kUnknown};
  if (values->front() < 0 || values->back() < 0) return errors::InvalidArgument("Dimension size must be non-negative");
  return std::pair{values->front(), values->back()};
}

absl::Status ResizeShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape image, c.WithRank(c.input(0), 4));
  ASSIGN_OR_RETURN(const auto size, SizeInput(c, 1));
  c.set_output(0, c.Of({c.Dim(image, 0), size.first, size.second, c.Dim(image, 3)}));
  return absl::OkStatus();
}
// With a range behind the size.
absl::Status QuantizedResizeShape(InferenceContext& c) {
  RETURN_IF_ERROR(ResizeShape(c));
  for (int i : {2, 3}) RETURN_IF_ERROR(c.WithRank(c.input(i), 0).status());
  for (int i : {1, 2}) c.set_output(i, c.Scalar());
  return absl::OkStatus();
}
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

absl::StatusOr<int64_t> BoxCount(InferenceContext& c, int boxes, int other) {
  ASSIGN_OR_RETURN(PartialTensorShape corners, c.WithRank(c.input(boxes), 2));
  RETURN_IF_ERROR(c.MergeDim(c.Dim(corners, 1), 4).status());
  ASSIGN_OR_RETURN(PartialTensorShape vector, c.WithRank(c.input(other), 1));
  return c.MergeDim(c.Dim(corners, 0), c.Dim(vector, 0));
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

// Version 4 and 5 may pad to max_output_size.
absl::Status NonMaxSuppressionShape(InferenceContext& c) {
  RETURN_IF_ERROR(BoxCount(c, 0, 1).status());
  for (int i = 2; i < c.num_inputs(); ++i) RETURN_IF_ERROR(c.WithRank(c.input(i), 0).status());
  bool pad = false;
  if (!c.GetAttr("pad_to_max_output_size", &pad).ok()) pad = false;
  int64_t count = kUnknown;
  if (pad) {
    ASSIGN_OR_RETURN(count, c.InputAsScalar(2));
  }
  c.set_output(0, c.Vector(count));
  if (c.num_outputs() == 3) c.set_output(1, c.Vector(count));
  if (c.num_outputs() > 1) c.set_output(c.num_outputs() - 1, c.Scalar());
  return absl::OkStatus();
}

// Resizing where a size is given, mirrored edges, then a convolution.
absl::Status FusedPadConvolutionShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape image, c.WithRank(c.input(0), 4));
  ASSIGN_OR_RETURN(PartialTensorShape filter, c.WithRank(c.input(c.num_inputs() - 1), 4));
  ASSIGN_OR_RETURN(PartialTensorShape paddings, c.WithRank(c.input(c.num_inputs() - 2), 2));
  RETURN_IF_ERROR(c.MergeDim(c.Dim(paddings, 0), 4).status());
  RETURN_IF_ERROR(c.MergeDim(c.Dim(paddings, 1), 2).status());
  RETURN_IF_ERROR(c.MergeDim(c.Dim(image, 3), c.Dim(filter, 2)).status());
  std::pair<int64_t, int64_t> size = {c.Dim(image, 1), c.Dim(image, 2)};
  if (c.num_inputs() == 4) {
    ASSIGN_OR_RETURN(size, SizeInput(c, 1));
  }
  std::vector<int64_t> strides;
  std::string padding;
  RETURN_IF_ERROR(c.GetAttr("strides", &strides));
  RETURN_IF_ERROR(c.GetAttr("padding", &padding));
  if (strides.size() != 4)
    return errors::InvalidArgument("Operation requires the stride attribute to contain 4 values");
  const auto amounts = op_shapes::ConstantVector(c, c.num_inputs() - 2);
  int64_t out[2] = {kUnknown, kUnknown};
  for (int i : {0, 1}) {
    int64_t in = i == 0 ? size.first : size.second;
    if (!amounts || amounts->size() != 8) continue;
    ASSIGN_OR_RETURN(in, op_shapes::AddDims(in, (*amounts)[2 + 2 * i]));
    ASSIGN_OR_RETURN(in, op_shapes::AddDims(in, (*amounts)[3 + 2 * i]));
    ASSIGN_OR_RETURN(out[i], shapes::WindowedSize(in, c.Dim(filter, i), strides[1 + i], 1, padding));
  }
  c.set_output(0, c.Of({c.Dim(image, 0), out[0], out[1], c.Dim(filter, 3)}));
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
  RETURN_IF_ERROR(ops.Register(Op("QuantizedResizeBilinear")
                                   .Input("images: T")
                                   .Input("size: int32")
                                   .Input("min: float")
                                   .Input("max: float")
                                   .Output("resized_images: T")
                                   .Output("out_min: float")
                                   .Output("out_max: float")
                                   .Attr("T: {quint8, qint32, float}")
                                   .Attr("align_corners: bool = false")
                                   .Attr("half_pixel_centers: bool = false")
                                   .Shape(QuantizedResizeShape)));
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
  RETURN_IF_ERROR(ops.Register(Op("NonMaxSuppression")
                                   .Input("boxes: float")
                                   .Input("scores: float")
                                   .Input("max_output_size: int32")
                                   .Output("selected_indices: int32")
                                   .Attr("iou_threshold: float = 0.5")
                                   .Shape(NonMaxSuppressionShape)));
  RETURN_IF_ERROR(ops.Register(Op("NonMaxSuppressionV2")
                                   .Input("boxes: T")
                                   .Input("scores: T")
                                   .Input("max_output_size: int32")
                                   .Input("iou_threshold: T_threshold")
                                   .Output("selected_indices: int32")
                                   .Attr("T: {half, float} = DT_FLOAT")
                                   .Attr("T_threshold: {half, float} = DT_FLOAT")
                                   .Shape(NonMaxSuppressionShape)));
  RETURN_IF_ERROR(ops.Register(Op("NonMaxSuppressionV3")
                                   .Input("boxes: T")
                                   .Input("scores: T")
                                   .Input("max_output_size: int32")
                                   .Input("iou_threshold: T_threshold")
                                   .Input("score_threshold: T_threshold")
                                   .Output("selected_indices: int32")
                                   .Attr("T: {half, float} = DT_FLOAT")
                                   .Attr("T_threshold: {half, float} = DT_FLOAT")
                                   .Shape(NonMaxSuppressionShape)));
  RETURN_IF_ERROR(ops.Register(Op("NonMaxSuppressionV4")
                                   .Input("boxes: T")
                                   .Input("scores: T")
                                   .Input("max_output_size: int32")
                                   .Input("iou_threshold: T_threshold")
                                   .Input("score_threshold: T_threshold")
                                   .Output("selected_indices: int32")
                                   .Output("valid_outputs: int32")
                                   .Attr("T: {half, float} = DT_FLOAT")
                                   .Attr("T_threshold: {half, float} = DT_FLOAT")
                                   .Attr("pad_to_max_output_size: bool = false")
                                   .Shape(NonMaxSuppressionShape)));
  RETURN_IF_ERROR(ops.Register(Op("NonMaxSuppressionV5")
                                   .Input("boxes: T")
                                   .Input("scores: T")
                                   .Input("max_output_size: int32")
                                   .Input("iou_threshold: T")
                                   .Input("score_threshold: T")
                                   .Input("soft_nms_sigma: T")
                                   .Output("selected_indices: int32")
                                   .Output("selected_scores: T")
                                   .Output("valid_outputs: int32")
                                   .Attr("T: {half, float} = DT_FLOAT")
                                   .Attr("pad_to_max_output_size: bool = false")
                                   .Shape(NonMaxSuppressionShape)));
  RETURN_IF_ERROR(ops.Register(Op("FusedPadConv2D")
                                   .Input("input: T")
                                   .Input("paddings: int32")
                                   .Input("filter: T")
                                   .Output("output: T")
                                   .Attr("T: {half, bfloat16, float, double}")
                                   .Attr("mode: {'REFLECT', 'SYMMETRIC'}")
                                   .Attr("strides: list(int)")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Shape(FusedPadConvolutionShape)));
  RETURN_IF_ERROR(ops.Register(Op("FusedResizeAndPadConv2D")
                                   .Input("input: T")
                                   .Input("size: int32")
                                   .Input("paddings: int32")
                                   .Input("filter: T")
                                   .Output("output: T")
                                   .Attr("T: {half, float, double}")
                                   .Attr("resize_align_corners: bool = false")
                                   .Attr("mode: {'REFLECT', 'SYMMETRIC'}")
                                   .Attr("strides: list(int)")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Shape(FusedPadConvolutionShape)));
  return absl::OkStatus();
}

}  // namespace weir
