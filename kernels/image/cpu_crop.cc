// CropAndResize: boxes cut out of images and brought to one size, and the gradients of that.
#include <algorithm>
#include <cmath>

#include "kernels/device/parallel.h"
#include "kernels/device/wide.h"
#include "kernels/image/args_crop.h"
#include "kernels/image/crop_side.h"
#include "kernels/image/family.h"

namespace weir {
namespace {

// Boxes [n, 4] of normalised corners y1, x1, y2, x2, and the image of each.
struct Boxes {
  static absl::StatusOr<Boxes> Read(const Tensor& boxes, const Tensor& images, const CropSizes& sizes) {
    const int64_t count = sizes.crops.dim_size(0), batch = sizes.image.dim_size(0);
    for (int32_t image : images.flat<int32_t>()) {
      if (image < 0 || image >= batch) return BoxIndexOutOfRange();
    }
    return Boxes{count, boxes.data<float>(), images.data<int32_t>()};
  }
  int64_t count = 0;
  const float* corners = nullptr;
  const int32_t* image = nullptr;
};

// The sides of box `b`.
struct BoxSides {
  BoxSides(const Boxes& boxes, int64_t b, const CropSizes& sizes)
      : rows{boxes.corners[4 * b], boxes.corners[4 * b + 2], sizes.image.dim_size(1), sizes.crops.dim_size(1)},
        columns{boxes.corners[4 * b + 1], boxes.corners[4 * b + 3], sizes.image.dim_size(2), sizes.crops.dim_size(2)} {}
  CropSide rows, columns;
};

// fn(box, y, x, place in the image) for pixels of the crops; place is nullptr outside of the image.
struct Place {
  CropSide::Between row, column;
};
template <typename Fn>
void EachCropPixel(const Boxes& boxes, int64_t begin, int64_t end, const CropSizes& sizes, bool nearest, Fn fn) {
  if (sizes.crops.num_elements() == 0) return;  // no channels, and then perhaps no end of pixels
  for (int64_t b = begin; b < end; ++b) {
    const BoxSides sides(boxes, b, sizes);
    for (int64_t y = 0; y < sides.rows.crop; ++y) {
      const float in_y = sides.rows.At(y);
      for (int64_t x = 0; x < sides.columns.crop; ++x) {
        const float in_x = sides.columns.At(x);
        if (!sides.rows.Inside(in_y) || !sides.columns.Inside(in_x)) {
          fn(b, y, x, nullptr);
          continue;
        }
        const Place place{sides.rows.Find(in_y, nearest), sides.columns.Find(in_x, nearest)};
        fn(b, y, x, &place);
      }
    }
  }
}

class CropKernelBase : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return attrs_.Read(ctx); }

 protected:
  CropAttrs attrs_;
};

class CropAndResizeKernel : public CropKernelBase {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const CropSizes sizes, CropSizes::Of(ctx));
    ASSIGN_OR_RETURN(const Boxes boxes, Boxes::Read(ctx.input(1), ctx.input(2), sizes));
    if (!std::all_of(boxes.corners, boxes.corners + 4 * boxes.count, [](float at) { return std::isfinite(at); })) {
      return errors::InvalidArgument("Boxes contains at least one element that is not finite");
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, sizes.crops));
    if (output->NumElements() == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const Tensor image, ConvertTensor(ctx, ctx.input(0), DT_FLOAT));
    const int64_t rows = sizes.crops.dim_size(1), columns = sizes.crops.dim_size(2), c = sizes.crops.dim_size(3);
    const int64_t width = sizes.image.dim_size(2), plane_size = sizes.image.dim_size(1) * width * c;
    ParallelRanges(ctx, boxes.count, rows * columns * (10'000 + c * 2'000), [&](int64_t begin, int64_t end) {
      EachCropPixel(boxes, begin, end, sizes, attrs_.nearest, [&](int64_t b, int64_t y, int64_t x, const Place* place) {
        float* const out = output->data<float>() + ((b * rows + y) * columns + x) * c;
        if (place == nullptr) {
          std::fill_n(out, c, attrs_.outside);
          return;
        }
        const float* const plane = image.data<float>() + boxes.image[b] * plane_size;
        const auto at = [&](int64_t row, int64_t column) { return plane + (row * width + column) * c; };
        const auto& [row, column] = *place;
        const float *tl = at(row.first, column.first), *tr = at(row.first, column.second),
                    *bl = at(row.second, column.first), *br = at(row.second, column.second);
        for (int64_t k = 0; k < c; ++k) {
          const float top = tl[k] + (tr[k] - tl[k]) * column.share;
          const float bottom = bl[k] + (br[k] - bl[k]) * column.share;
          out[k] = top + (bottom - top) * row.share;
        }
      });
    });
    return absl::OkStatus();
  }
};

// Inputs: gradients [n, rows, columns, channels], boxes, box_ind, image_size.
class CropGradImageKernel : public CropKernelBase {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& grads = ctx.input(0);
    ASSIGN_OR_RETURN(const CropSizes sizes, CropSizes::OfImageGradient(ctx));
    ASSIGN_OR_RETURN(const Boxes boxes, Boxes::Read(ctx.input(1), ctx.input(2), sizes));
    ASSIGN_OR_RETURN(Tensor sums, ctx.allocate_temp(DT_DOUBLE, sizes.image));
    std::fill_n(sums.data<double>(), sums.NumElements(), 0.0);
    const int64_t rows = sizes.crops.dim_size(1), columns = sizes.crops.dim_size(2), c = sizes.crops.dim_size(3);
    EachCropPixel(boxes, 0, boxes.count, sizes, attrs_.nearest,
                  [&](int64_t b, int64_t y, int64_t x, const Place* place) {
                    if (place == nullptr) return;
                    const float* const g = grads.data<float>() + ((b * rows + y) * columns + x) * c;
                    const auto add = [&](int64_t row, int64_t column, float weight) {
                      double* const to =
                          sums.data<double>() +
                          ((boxes.image[b] * sizes.image.dim_size(1) + row) * sizes.image.dim_size(2) + column) * c;
                      for (int64_t k = 0; k < c; ++k) to[k] += weight * g[k];
                    };
                    const auto& [row, column] = *place;
                    add(row.first, column.first, (1 - row.share) * (1 - column.share));
                    add(row.first, column.second, (1 - row.share) * column.share);
                    add(row.second, column.first, row.share * (1 - column.share));
                    add(row.second, column.second, row.share * column.share);
                  });
    ASSIGN_OR_RETURN(Tensor narrow, ConvertTensor(ctx, sums, ctx.expected_output_dtype(0)));
    ctx.set_output(0, std::move(narrow));
    return absl::OkStatus();
  }
};

// Inputs: gradients, image, boxes, box_ind.
class CropGradBoxesKernel : public CropKernelBase {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& grads = ctx.input(0);
    ASSIGN_OR_RETURN(const CropSizes sizes, CropSizes::OfBoxesGradient(ctx));
    ASSIGN_OR_RETURN(const Boxes boxes, Boxes::Read(ctx.input(2), ctx.input(3), sizes));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, TensorShape({boxes.count, 4})));
    std::fill_n(output->data<float>(), output->NumElements(), 0.0f);
    ASSIGN_OR_RETURN(const Tensor image, ConvertTensor(ctx, ctx.input(1), DT_FLOAT));
    const int64_t rows = sizes.crops.dim_size(1), columns = sizes.crops.dim_size(2), c = sizes.crops.dim_size(3);
    const int64_t width = sizes.image.dim_size(2), plane_size = sizes.image.dim_size(1) * width * c;
    EachCropPixel(boxes, 0, boxes.count, sizes, attrs_.nearest,
                  [&](int64_t b, int64_t y, int64_t x, const Place* place) {
                    if (place == nullptr) return;
                    const float* const plane = image.data<float>() + boxes.image[b] * plane_size;
                    const float* const g = grads.data<float>() + ((b * rows + y) * columns + x) * c;
                    const auto at = [&](int64_t row, int64_t column) { return plane + (row * width + column) * c; };
                    const auto& [row, column] = *place;
                    const float *tl = at(row.first, column.first), *tr = at(row.first, column.second),
                                *bl = at(row.second, column.first), *br = at(row.second, column.second);
                    float by_y = 0, by_x = 0;
                    for (int64_t k = 0; k < c; ++k) {
                      by_y += g[k] * ((1 - column.share) * (bl[k] - tl[k]) + column.share * (br[k] - tr[k]));
                      by_x += g[k] * ((1 - row.share) * (tr[k] - tl[k]) + row.share * (br[k] - bl[k]));
                    }
                    const BoxSides sides(boxes, b, sizes);
                    const CropSide::Slopes down = sides.rows.SlopesAt(y), right = sides.columns.SlopesAt(x);
                    float* const out = output->data<float>() + 4 * b;
                    out[0] += by_y * down.low;
                    out[1] += by_x * right.low;
                    out[2] += by_y * down.high;
                    out[3] += by_x * right.high;
                  });
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterImageCropKernels(KernelRegistry& kernels) {
  const DataTypeVector reals = {DT_FLOAT, DT_DOUBLE, DT_HALF,  DT_INT8,  DT_INT16,
                                DT_INT32, DT_INT64,  DT_UINT8, DT_UINT16};
  RETURN_IF_ERROR(
      kernels.Register<CropAndResizeKernel>(Kernel("CropAndResize").Cpu().Types("T", reals).HostMemory("crop_size")));
  RETURN_IF_ERROR(kernels.Register<CropGradImageKernel>(
      Kernel("CropAndResizeGradImage").Cpu().Types("T", {DT_FLOAT, DT_DOUBLE, DT_HALF}).HostMemory("image_size")));
  return kernels.Register<CropGradBoxesKernel>(Kernel("CropAndResizeGradBoxes").Cpu().Types("T", reals));
}

}  // namespace weir
