// DrawBoundingBoxes: the outlines of boxes over images.
#include <cmath>
#include <vector>

#include "kernels/device/wide.h"
#include "kernels/image/family.h"

namespace weir {
namespace {

// What boxes are drawn in where no colours are given, in turn.
constexpr float kColors[10][4] = {{1, 1, 0, 1},       {0, 0, 1, 1},       {1, 0, 0, 1},    {0, 1, 0, 1},
                                  {0.5f, 0, 0.5f, 1}, {0.5f, 0.5f, 0, 1}, {0.5f, 0, 0, 1}, {0, 0, 0.5f, 1},
                                  {0, 1, 1, 1},       {1, 0, 1, 1}};

// What no integer holds, to either side or not a number, lies before the image.
int64_t Scaled(float part, int64_t size) {
  constexpr float kFar = 1e18f;
  const float place = part * static_cast<float>(size - 1);
  return std::abs(place) < kFar ? static_cast<int64_t>(place) : -static_cast<int64_t>(kFar);
}

class DrawBoundingBoxesKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor &images = ctx.input(0), &boxes = ctx.input(1);
    if (images.dims() != 4) return errors::InvalidArgument("The rank of the images should be 4");
    if (boxes.dims() != 3) return errors::InvalidArgument("The rank of the boxes tensor should be 3");
    if (images.dim_size(0) != boxes.dim_size(0)) {
      return errors::InvalidArgument("The batch sizes should be the same");
    }
    const int64_t depth = images.dim_size(3);
    if (depth != 1 && depth != 3 && depth != 4) {
      return errors::InvalidArgument("Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA)");
    }
    if (boxes.dim_size(2) != 4) {
      return errors::InvalidArgument("The size of the third dimension of the box must be 4. Received: ",
                                     boxes.dim_size(2));
    }
    std::vector<std::vector<float>> colors;
    if (ctx.num_inputs() == 3) RETURN_IF_ERROR(ReadColors(ctx.input(2), depth, &colors));
    if (colors.empty()) {
      for (const float* color : kColors) {
        colors.emplace_back(color, color + 4);
        if (depth == 1) colors.back()[0] = 1;
      }
    }
    ASSIGN_OR_RETURN(WideOutput output, WideOutput::Allocate(ctx, 0, images.shape()));
    ASSIGN_OR_RETURN(const Tensor wide, Widen(ctx, images));
    std::copy_n(wide.data<float>(), wide.NumElements(), output.data<float>());
    const int64_t pixels = images.dim_size(1) * images.dim_size(2) * depth;
    for (int64_t b = 0; b < images.dim_size(0) && pixels > 0; ++b) {
      for (int64_t i = 0; i < boxes.dim_size(1); ++i) {
        Draw(boxes.data<float>() + (b * boxes.dim_size(1) + i) * 4, colors[i % colors.size()].data(),
             images.dim_size(1), images.dim_size(2), depth, output.data<float>() + b * pixels);
      }
    }
    return output.Finish(ctx);
  }

 private:
  static absl::Status ReadColors(const Tensor& table, int64_t depth, std::vector<std::vector<float>>* colors) {
    if (table.dims() != 2) {
      return errors::InvalidArgument("colors must be a 2-D matrix", table.shape().ToString());
    }
    if (table.dim_size(0) == 0) return absl::OkStatus();
    if (table.dim_size(1) < depth) {
      return errors::InvalidArgument(
          "colors must have equal or more channels than the image provided: ", table.dim_size(1), " vs. ", depth);
    }
    for (int64_t i = 0; i < table.dim_size(0); ++i) {
      const float* const row = table.data<float>() + i * table.dim_size(1);
      colors->emplace_back(row, row + depth);
    }
    return absl::OkStatus();
  }

  static void Draw(const float* box, const float* color, int64_t height, int64_t width, int64_t depth, float* image) {
    const int64_t top = Scaled(box[0], height), left = Scaled(box[1], width), bottom = Scaled(box[2], height),
                  right = Scaled(box[3], width);
    if (top > bottom || left > right) return;
    if (top >= height || bottom < 0 || left >= width || right < 0) return;
    const int64_t first_row = std::max<int64_t>(0, top), last_row = std::min(height - 1, bottom),
                  first_column = std::max<int64_t>(0, left), last_column = std::min(width - 1, right);
    const auto dot = [&](int64_t y, int64_t x) { std::copy_n(color, depth, image + (y * width + x) * depth); };
    for (int64_t x = first_column; x <= last_column; ++x) {
      if (top >= 0) dot(top, x);
      if (bottom < height) dot(bottom, x);
    }
    for (int64_t y = first_row; y <= last_row; ++y) {
      if (left >= 0) dot(y, left);
      if (right < width) dot(y, right);
    }
  }
};

}  // namespace

absl::Status RegisterBoundingBoxKernels(KernelRegistry& kernels) {
  for (const char* op : {"DrawBoundingBoxes", "DrawBoundingBoxesV2"}) {
    RETURN_IF_ERROR(kernels.Register<DrawBoundingBoxesKernel>(Kernel(op).Cpu().Types("T", {DT_FLOAT, DT_HALF})));
  }
  return absl::OkStatus();
}

}  // namespace weir
