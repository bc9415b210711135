// Boxes in images: drawn, sampled and suppressed.
#include "kernels/image/family.h"
#include "kernels/image/image_shapes.h"

namespace weir {
namespace {

using image_shapes::BoxCount;
using op_shapes::kUnknown;

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

absl::Status DrawShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape images, c.WithRankAtLeast(c.input(0), 3));
  c.set_output(0, std::move(images));
  return absl::OkStatus();
}

absl::Status DistortedBoxShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.WithRank(c.input(0), 1).status());
  RETURN_IF_ERROR(c.WithRank(c.input(1), 3).status());
  if (c.num_inputs() > 2) RETURN_IF_ERROR(c.WithRank(c.input(2), 0).status());
  c.set_output(0, c.Vector(3));
  c.set_output(1, c.Vector(3));
  c.set_output(2, c.Of({1, 1, 4}));
  return absl::OkStatus();
}

absl::Status WithOverlapsShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape overlaps, c.WithRank(c.input(0), 2));
  ASSIGN_OR_RETURN(PartialTensorShape scores, c.WithRank(c.input(1), 1));
  for (int i : {2, 3, 4}) RETURN_IF_ERROR(c.WithRank(c.input(i), 0).status());
  RETURN_IF_ERROR(c.MergeDim(c.Dim(overlaps, 0), c.Dim(scores, 0)).status());
  RETURN_IF_ERROR(c.MergeDim(c.Dim(overlaps, 0), c.Dim(overlaps, 1)).status());
  c.set_output(0, c.Vector(kUnknown));
  return absl::OkStatus();
}

absl::Status CombinedShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape boxes, c.WithRank(c.input(0), 4));
  ASSIGN_OR_RETURN(PartialTensorShape scores, c.WithRank(c.input(1), 3));
  for (int i : {2, 3, 4, 5}) RETURN_IF_ERROR(c.WithRank(c.input(i), 0).status());
  RETURN_IF_ERROR(c.MergeDim(c.Dim(boxes, 3), 4).status());
  RETURN_IF_ERROR(c.MergeDim(c.Dim(boxes, 0), c.Dim(scores, 0)).status());
  RETURN_IF_ERROR(c.MergeDim(c.Dim(boxes, 1), c.Dim(scores, 1)).status());
  bool pad;
  RETURN_IF_ERROR(c.GetAttr("pad_per_class", &pad));
  int64_t count = kUnknown;
  ASSIGN_OR_RETURN(const auto total, op_shapes::ConstantScalar(c, 3));
  ASSIGN_OR_RETURN(const auto per_class, op_shapes::ConstantScalar(c, 2));
  if (total && *total <= 0) return errors::InvalidArgument("max_total_size should be > 0 ");
  if (per_class && *per_class < 0) return errors::InvalidArgument("max_output_size_per_class must be > 0");
  if (total && !pad) count = *total;
  if (total && pad && per_class && c.Dim(scores, 2) != kUnknown) {
    const int64_t all = MultiplyWithoutOverflow(*per_class, c.Dim(scores, 2));
    count = all < 0 ? *total : std::min(*total, all);
  }
  const int64_t batch = c.Dim(boxes, 0);
  c.set_output(0, c.Of({batch, count, 4}));
  c.set_output(1, c.Matrix(batch, count));
  c.set_output(2, c.Matrix(batch, count));
  c.set_output(3, c.Vector(batch));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterImageBoxOps(OpRegistry& ops) {
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
  RETURN_IF_ERROR(ops.Register(Op("NonMaxSuppressionWithOverlaps")
                                   .Input("overlaps: float")
                                   .Input("scores: float")
                                   .Input("max_output_size: int32")
                                   .Input("overlap_threshold: float")
                                   .Input("score_threshold: float")
                                   .Output("selected_indices: int32")
                                   .Shape(WithOverlapsShape)));
  RETURN_IF_ERROR(ops.Register(Op("CombinedNonMaxSuppression")
                                   .Input("boxes: float")
                                   .Input("scores: float")
                                   .Input("max_output_size_per_class: int32")
                                   .Input("max_total_size: int32")
                                   .Input("iou_threshold: float")
                                   .Input("score_threshold: float")
                                   .Output("nmsed_boxes: float")
                                   .Output("nmsed_scores: float")
                                   .Output("nmsed_classes: float")
                                   .Output("valid_detections: int32")
                                   .Attr("pad_per_class: bool = false")
                                   .Attr("clip_boxes: bool = true")
                                   .Shape(CombinedShape)));
  RETURN_IF_ERROR(ops.Register(Op("DrawBoundingBoxes")
                                   .Input("images: T")
                                   .Input("boxes: float")
                                   .Output("output: T")
                                   .Attr("T: {float, half} = DT_FLOAT")
                                   .Shape(DrawShape)));
  RETURN_IF_ERROR(ops.Register(Op("DrawBoundingBoxesV2")
                                   .Input("images: T")
                                   .Input("boxes: float")
                                   .Input("colors: float")
                                   .Output("output: T")
                                   .Attr("T: {float, half} = DT_FLOAT")
                                   .Shape(DrawShape)));
  RETURN_IF_ERROR(ops.Register(Op("SampleDistortedBoundingBox")
                                   .Input("image_size: T")
                                   .Input("bounding_boxes: float")
                                   .Output("begin: T")
                                   .Output("size: T")
                                   .Output("bboxes: float")
                                   .Attr("T: {uint8, int8, int16, int32, int64}")
                                   .Attr("seed: int = 0")
                                   .Attr("seed2: int = 0")
                                   .Attr("min_object_covered: float = 0.100000001")
                                   .Attr("aspect_ratio_range: list(float) = [0.75, 1.3300000429153442]")
                                   .Attr("area_range: list(float) = [0.05000000074505806, 1.0]")
                                   .Attr("max_attempts: int = 100")
                                   .Attr("use_image_if_no_bounding_boxes: bool = false")
                                   .Stateful()
                                   .Shape(DistortedBoxShape)));
  RETURN_IF_ERROR(ops.Register(Op("SampleDistortedBoundingBoxV2")
                                   .Input("image_size: T")
                                   .Input("bounding_boxes: float")
                                   .Input("min_object_covered: float")
                                   .Output("begin: T")
                                   .Output("size: T")
                                   .Output("bboxes: float")
                                   .Attr("T: {uint8, int8, int16, int32, int64}")
                                   .Attr("seed: int = 0")
                                   .Attr("seed2: int = 0")
                                   .Attr("aspect_ratio_range: list(float) = [0.75, 1.3300000429153442]")
                                   .Attr("area_range: list(float) = [0.05000000074505806, 1.0]")
                                   .Attr("max_attempts: int = 100")
                                   .Attr("use_image_if_no_bounding_boxes: bool = false")
                                   .Stateful()
                                   .Shape(DistortedBoxShape)));
  RETURN_IF_ERROR(ops.Register(Op("StatelessSampleDistortedBoundingBox")
                                   .Input("image_size: T")
                                   .Input("bounding_boxes: float")
                                   .Input("min_object_covered: float")
                                   .Input("seed: Tseed")
                                   .Output("begin: T")
                                   .Output("size: T")
                                   .Output("bboxes: float")
                                   .Attr("T: {uint8, int8, int16, int32, int64}")
                                   .Attr("Tseed: {int32, int64}")
                                   .Attr("aspect_ratio_range: list(float) = [0.75, 1.3300000429153442]")
                                   .Attr("area_range: list(float) = [0.05000000074505806, 1.0]")
                                   .Attr("max_attempts: int = 100")
                                   .Attr("use_image_if_no_bounding_boxes: bool = false")
                                   .Shape(DistortedBoxShape)));
  return absl::OkStatus();
}

}  // namespace weir
