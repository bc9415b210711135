// Parts of images: patches, glimpses, resampled and projected images, boxes and pooling regions.
#include <cmath>
#include <limits>

#include "graph/common_shapes.h"
#include "kernels/device/op_shapes.h"
#include "kernels/image/family.h"

namespace weir {
namespace {

using op_shapes::kUnknown;

// Whether a window that is larger than its dimension leaves no patches, which is no error as long as a stride would
// bring it back.
bool LeavesNone(int64_t in, int64_t size, int64_t stride, int64_t rate, const std::string& padding) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  for (int64_t value : {size, stride, rate}) {
    if (value < 1 || value > kMost) return false;
  }
  const int64_t seen = (size - 1) * rate + 1;
  return padding == "VALID" && in >= 0 && in < seen && (in - seen + stride) / stride == 0;
}

// Output sizes of windows that slide over all dimensions but the first and the last, which become the depth.
absl::Status PatchesShape(InferenceContext& c) {
  std::vector<int64_t> sizes, strides, rates;
  std::string padding;
  RETURN_IF_ERROR(c.GetAttr("ksizes", &sizes));
  RETURN_IF_ERROR(c.GetAttr("strides", &strides));
  RETURN_IF_ERROR(c.GetAttr("padding", &padding));
  const int rank = c.GetAttr("rates", &rates).ok() ? 4 : 5;
  if (rank == 5) rates.assign(5, 1);
  ASSIGN_OR_RETURN(PartialTensorShape input, c.WithRank(c.input(0), rank));
  for (const auto* list : {&sizes, &strides, &rates}) {
    if (static_cast<int>(list->size()) == rank) continue;
    return errors::InvalidArgument("ksizes, strides and rates must have ", rank, " values, but got: ", list->size());
  }
  DimVector dims{c.Dim(input, 0)};
  int64_t depth = c.Dim(input, rank - 1);
  for (int d = 1; d < rank - 1; ++d) {
    dims.push_back(0);
    if (!LeavesNone(c.Dim(input, d), sizes[d], strides[d], rates[d], padding)) {
      ASSIGN_OR_RETURN(dims.back(), shapes::WindowedSize(c.Dim(input, d), sizes[d], strides[d], rates[d], padding));
    }
    if (depth != kUnknown) depth = MultiplyWithoutOverflow(depth, sizes[d]);
  }
  dims.push_back(depth);
  c.set_output(0, c.Of(dims));
  return absl::OkStatus();
}

// Rows and columns that input i, a constant of two elements, holds.
absl::Status SizedShape(InferenceContext& c, int i, const PartialTensorShape& images) {
  ASSIGN_OR_RETURN(PartialTensorShape size, c.WithRank(c.input(i), 1));
  RETURN_IF_ERROR(c.MergeDim(c.Dim(size, 0), 2).status());
  int64_t rows = kUnknown, columns = kUnknown;
  if (const auto values = op_shapes::ConstantVector(c, i); values && values->size() == 2) {
    rows = values->front();
    columns = values->back();
    if (rows < 0 || columns < 0) return errors::InvalidArgument("Dimension size must be non-negative");
  }
  c.set_output(0, c.Of({c.Dim(images, 0), rows, columns, c.Dim(images, 3)}));
  return absl::OkStatus();
}
absl::Status GlimpseShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape images, c.WithRank(c.input(0), 4));
  ASSIGN_OR_RETURN(PartialTensorShape offsets, c.WithRank(c.input(2), 2));
  RETURN_IF_ERROR(c.MergeDim(c.Dim(offsets, 1), 2).status());
  ASSIGN_OR_RETURN(const int64_t batch, c.MergeDim(c.Dim(images, 0), c.Dim(offsets, 0)));
  return SizedShape(c, 1, c.Of({batch, kUnknown, kUnknown, c.Dim(images, 3)}));
}
absl::Status ScaleShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape images, c.WithRank(c.input(0), 4));
  for (int i : {2, 3}) {
    ASSIGN_OR_RETURN(PartialTensorShape pair, c.WithRank(c.input(i), 1));
    RETURN_IF_ERROR(c.MergeDim(c.Dim(pair, 0), 2).status());
  }
  return SizedShape(c, 1, images);
}
absl::Status LikeSecond(InferenceContext& c) {
  c.set_output(0, c.input(1));
  return absl::OkStatus();
}
absl::Status ProjectionShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape images, c.WithRank(c.input(0), 4));
  RETURN_IF_ERROR(c.WithRank(c.input(1), 2).status());
  return SizedShape(c, 2, images);
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

absl::Status FractionalPoolShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape input, c.WithRank(c.input(0), 4));
  std::vector<float> ratio;
  RETURN_IF_ERROR(c.GetAttr("pooling_ratio", &ratio));
  if (ratio.size() != 4) {
    return errors::InvalidArgument("pooling_ratio field must specify 4 dimensions, got ", ratio.size());
  }
  DimVector dims;
  for (int d = 0; d < 4; ++d) {
    const int64_t size = c.Dim(input, d);
    if (!(ratio[d] >= 1)) return errors::InvalidArgument("pooling_ratio cannot be smaller than 1, got: ", ratio[d]);
    dims.push_back(size == kUnknown ? kUnknown : static_cast<int64_t>(std::floor(static_cast<float>(size) / ratio[d])));
  }
  c.set_output(0, c.Of(dims));
  for (int i : {1, 2}) c.set_output(i, c.Vector(dims[i]));
  return absl::OkStatus();
}
absl::Status FractionalMaxGradShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape input, c.WithRank(c.input(0), 4));
  c.set_output(0, std::move(input));
  return absl::OkStatus();
}
absl::Status FractionalAvgGradShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialTensorShape shape, c.InputAsShape(0));
  c.set_output(0, shape.unknown_rank() ? c.UnknownOfRank(4) : shape);
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterImageRegionOps(OpRegistry& ops) {
  RETURN_IF_ERROR(ops.Register(Op("ExtractImagePatches")
                                   .Input("images: T")
                                   .Output("patches: T")
                                   .Attr("ksizes: list(int) >= 4")
                                   .Attr("strides: list(int) >= 4")
                                   .Attr("rates: list(int) >= 4")
                                   .Attr("T: {bfloat16, half, float, double, int8, int16, int32, int64, uint8, uint16, "
                                         "uint32, uint64, complex64, complex128, bool}")
                                   .Attr("padding: {'SAME', 'VALID'}")
                                   .Shape(PatchesShape)));
  RETURN_IF_ERROR(ops.Register(
      Op("ExtractVolumePatches")
          .Input("input: T")
          .Output("patches: T")
          .Attr("ksizes: list(int) >= 5")
          .Attr("strides: list(int) >= 5")
          .Attr("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}")
          .Attr("padding: {'SAME', 'VALID'}")
          .Shape(PatchesShape)));
  for (const char* name : {"ExtractGlimpse", "ExtractGlimpseV2"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("input: float")
                                     .Input("size: int32")
                                     .Input("offsets: float")
                                     .Output("glimpse: float")
                                     .Attr("centered: bool = true")
                                     .Attr("normalized: bool = true")
                                     .Attr("uniform_noise: bool = true")
                                     .Attr("noise: string = 'uniform'")
                                     .Shape(GlimpseShape)));
  }
  RETURN_IF_ERROR(ops.Register(Op("ScaleAndTranslate")
                                   .Input("images: T")
                                   .Input("size: int32")
                                   .Input("scale: float")
                                   .Input("translation: float")
                                   .Output("resized_images: float")
                                   .Attr("T: {int8, uint8, int16, uint16, int32, int64, bfloat16, half, float, double}")
                                   .Attr("kernel_type: string = 'lanczos3'")
                                   .Attr("antialias: bool = true")
                                   .Shape(ScaleShape)));
  RETURN_IF_ERROR(ops.Register(Op("ScaleAndTranslateGrad")
                                   .Input("grads: T")
                                   .Input("original_image: T")
                                   .Input("scale: float")
                                   .Input("translation: float")
                                   .Output("output: T")
                                   .Attr("T: {float}")
                                   .Attr("kernel_type: string = 'lanczos3'")
                                   .Attr("antialias: bool = true")
                                   .Shape(LikeSecond)));
  RETURN_IF_ERROR(ops.Register(Op("ImageProjectiveTransformV2")
                                   .Input("images: dtype")
                                   .Input("transforms: float")
                                   .Input("output_shape: int32")
                                   .Output("transformed_images: dtype")
                                   .Attr("dtype: {uint8, int32, int64, half, bfloat16, float, double}")
                                   .Attr("interpolation: string")
                                   .Attr("fill_mode: string = 'CONSTANT'")
                                   .Shape(ProjectionShape)));
  RETURN_IF_ERROR(ops.Register(Op("ImageProjectiveTransformV3")
                                   .Input("images: dtype")
                                   .Input("transforms: float")
                                   .Input("output_shape: int32")
                                   .Input("fill_value: float")
                                   .Output("transformed_images: dtype")
                                   .Attr("dtype: {uint8, int32, int64, half, bfloat16, float, double}")
                                   .Attr("interpolation: string")
                                   .Attr("fill_mode: string = 'CONSTANT'")
                                   .Shape(ProjectionShape)));
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
  for (const char* name : {"FractionalMaxPool", "FractionalAvgPool"}) {
    RETURN_IF_ERROR(ops.Register(Op(name)
                                     .Input("value: T")
                                     .Output("output: T")
                                     .Output("row_pooling_sequence: int64")
                                     .Output("col_pooling_sequence: int64")
                                     .Attr("pooling_ratio: list(float) >= 4")
                                     .Attr("pseudo_random: bool = false")
                                     .Attr("overlapping: bool = false")
                                     .Attr("deterministic: bool = false")
                                     .Attr("seed: int = 0")
                                     .Attr("seed2: int = 0")
                                     .Attr("T: {float, double, int32, int64}")
                                     .Shape(FractionalPoolShape)));
  }
  RETURN_IF_ERROR(ops.Register(Op("FractionalMaxPoolGrad")
                                   .Input("orig_input: T")
                                   .Input("orig_output: T")
                                   .Input("out_backprop: T")
                                   .Input("row_pooling_sequence: int64")
                                   .Input("col_pooling_sequence: int64")
                                   .Output("output: T")
                                   .Attr("overlapping: bool = false")
                                   .Attr("T: {float, double, int32, int64}")
                                   .Shape(FractionalMaxGradShape)));
  RETURN_IF_ERROR(ops.Register(Op("FractionalAvgPoolGrad")
                                   .Input("orig_input_tensor_shape: int64")
                                   .Input("out_backprop: T")
                                   .Input("row_pooling_sequence: int64")
                                   .Input("col_pooling_sequence: int64")
                                   .Output("output: T")
                                   .Attr("overlapping: bool = false")
                                   .Attr("T: {float, double, int32, int64}")
                                   .Shape(FractionalAvgGradShape)));
  return absl::OkStatus();
}

}  // namespace weir
