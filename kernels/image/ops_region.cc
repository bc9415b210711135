// Patches and glimpses of images, and images resampled and projected.
#include <limits>

#include "graph/shapes/common_shapes.h"
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
  return absl::OkStatus();
}

}  // namespace weir
