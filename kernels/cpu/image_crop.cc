// CropAndResize: boxes cut out of images and brought to one size, and the gradients of that.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cpu/numeric_families.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/wide.h"

namespace weir {
namespace {

// Boxes [n, 4] of normalised corners y1, x1, y2, x2, and the image of each.
struct Boxes {
  static absl::StatusOr<Boxes> Read(const Tensor& boxes, const Tensor& images, int64_t batch) {
    if (boxes.NumElements() == 0 && images.NumElements() == 0) return Boxes{};
    if (boxes.dims() != 2) return errors::InvalidArgument("boxes must be 2-D", boxes.shape().ToString());
    if (boxes.dim_size(1) != 4) return errors::InvalidArgument("boxes must have 4 columns");
    if (images.dims() != 1) return errors::InvalidArgument("box_index must be 1-D", images.shape().ToString());
    if (images.dim_size(0) != boxes.dim_size(0)) return errors::InvalidArgument("box_index has incompatible shape");
    for (int32_t image : images.flat<int32_t>()) {
      if (image < 0 || image >= batch) return errors::OutOfRange("box_index has values outside [0, batch_size)");
    }
    return Boxes{boxes.dim_size(0), boxes.data<float>(), images.data<int32_t>()};
  }
  int64_t count = 0;
  const float* corners = nullptr;
  const int32_t* image = nullptr;
};

// One side of a box: where element i of the crop lies in an image of `size` elements.
struct Side {
  Side(float first, float second, int64_t image_size, int64_t crop_size)
      : low(first), high(second), size(image_size), crop(crop_size) {}
  float At(int64_t i) const {
    const float last = static_cast<float>(size - 1);
    if (crop == 1) return 0.5f * (low + high) * last;
    return low * last + static_cast<float>(i) * ((high - low) * last / static_cast<float>(crop - 1));
  }
  bool Inside(float at) const { return at >= 0 && at <= static_cast<float>(size - 1); }
  // d(At(i)) / d(low) and d(high).
  std::pair<float, float> Slopes(int64_t i) const {
    const float last = static_cast<float>(size - 1);
    if (crop == 1) return {0.5f * last, 0.5f * last};
    const float share = static_cast<float>(i) * last / static_cast<float>(crop - 1);
    return {last - share, share};
  }
  float low, high;
  int64_t size, crop;
};

// fn(box, y, x, place in the image as (row, column)) for pixels of the crops; place is nullptr outside of the image.
struct Place {
  int64_t top, bottom, left, right;
  float y_rest, x_rest;  // from top and left
};
template <typename Fn>
void EachCropPixel(const Boxes& boxes, int64_t begin, int64_t end, int64_t rows, int64_t columns, int64_t crop_rows,
                   int64_t crop_columns, bool nearest, Fn fn) {
  for (int64_t b = begin; b < end; ++b) {
    const float* const box = boxes.corners + 4 * b;
    const Side vertical(box[0], box[2], rows, crop_rows), horizontal(box[1], box[3], columns, crop_columns);
    for (int64_t y = 0; y < crop_rows; ++y) {
      const float in_y = vertical.At(y);
      for (int64_t x = 0; x < crop_columns; ++x) {
        const float in_x = horizontal.At(x);
        if (!vertical.Inside(in_y) || !horizontal.Inside(in_x)) {
          fn(b, y, x, nullptr);
          continue;
        }
        Place place;
        if (nearest) {
          place = {static_cast<int64_t>(std::round(in_y)), 0, static_cast<int64_t>(std::round(in_x)), 0, 0, 0};
          place.bottom = place.top;
          place.right = place.left;
        } else {
          place = {static_cast<int64_t>(std::floor(in_y)),
                   static_cast<int64_t>(std::ceil(in_y)),
                   static_cast<int64_t>(std::floor(in_x)),
                   static_cast<int64_t>(std::ceil(in_x)),
                   0,
                   0};
          place.y_rest = in_y - static_cast<float>(place.top);
          place.x_rest = in_x - static_cast<float>(place.left);
        }
        fn(b, y, x, &place);
      }
    }
  }
}

absl::Status CheckImage(const TensorShape& image) {
  if (image.dims() != 4) return errors::InvalidArgument("input image must be 4-D", image.ToString());
  if (image.dim_size(1) <= 0 || image.dim_size(2) <= 0)
    return errors::InvalidArgument("image dimensions must be positive");
  return absl::OkStatus();
}

class CropKernelBase : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    std::string method;
    RETURN_IF_ERROR(ctx.GetAttr("method", &method));
    nearest_ = method == "nearest";
    if (method != "nearest" && method != "bilinear") {
      return errors::InvalidArgument("method must be 'bilinear' or 'nearest'", method);
    }
    return ctx.HasAttr("extrapolation_value") ? ctx.GetAttr("extrapolation_value", &outside_) : absl::OkStatus();
  }

 protected:
  bool nearest_ = false;
  float outside_ = 0;
};

class CropAndResizeKernel : public CropKernelBase {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const TensorShape& in = ctx.input(0).shape();
    RETURN_IF_ERROR(CheckImage(in));
    const Tensor& size = ctx.input(3);
    if (size.dims() != 1) return errors::InvalidArgument("crop_size must be 1-D", size.shape().ToString());
    if (size.dim_size(0) != 2)
      return errors::InvalidArgument("crop_size must have two elements", size.shape().ToString());
    const int64_t rows = size.data<int32_t>()[0], columns = size.data<int32_t>()[1], c = in.dim_size(3);
    if (rows <= 0 || columns <= 0) return errors::InvalidArgument("crop dimensions must be positive");
    ASSIGN_OR_RETURN(const Boxes boxes, Boxes::Read(ctx.input(1), ctx.input(2), in.dim_size(0)));
    if (!std::all_of(boxes.corners, boxes.corners + 4 * boxes.count, [](float at) { return std::isfinite(at); })) {
      return errors::InvalidArgument("Boxes contains at least one element that is not finite");
    }
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build({boxes.count, rows, columns, c}));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    if (!std::all_of(boxes.corners, boxes.corners + 4 * boxes.count, [](float x) { return std::isfinite(x); })) {
      return errors::InvalidArgument("Boxes contains at least one element that is not finite");
    }
    ASSIGN_OR_RETURN(const Tensor image, ConvertTensor(ctx, ctx.input(0), DT_FLOAT));
    ParallelRanges(ctx, boxes.count, rows * columns * (10'000 + c * 2'000), [&](int64_t begin, int64_t end) {
      EachCropPixel(
          boxes, begin, end, in.dim_size(1), in.dim_size(2), rows, columns, nearest_,
          [&](int64_t b, int64_t y, int64_t x, const Place* place) {
            float* const out = output->data<float>() + ((b * rows + y) * columns + x) * c;
            if (place == nullptr) {
              std::fill_n(out, c, outside_);
              return;
            }
            const float* const plane = image.data<float>() + boxes.image[b] * in.dim_size(1) * in.dim_size(2) * c;
            const auto at = [&](int64_t row, int64_t column) { return plane + (row * in.dim_size(2) + column) * c; };
            const float *tl = at(place->top, place->left), *tr = at(place->top, place->right),
                        *bl = at(place->bottom, place->left), *br = at(place->bottom, place->right);
            for (int64_t k = 0; k < c; ++k) {
              const float top = tl[k] + (tr[k] - tl[k]) * place->x_rest;
              const float bottom = bl[k] + (br[k] - bl[k]) * place->x_rest;
              out[k] = top + (bottom - top) * place->y_rest;
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
    const Tensor& size = ctx.input(3);
    if (grads.dims() != 4) return errors::InvalidArgument("grads image must be 4-D", grads.shape().ToString());
    if (grads.dim_size(1) <= 0 || grads.dim_size(2) <= 0)
      return errors::InvalidArgument("grads dimensions must be positive");
    if (size.dims() != 1) return errors::InvalidArgument("image_size must be 1-D", size.shape().ToString());
    if (size.dim_size(0) != 4)
      return errors::InvalidArgument("image_size must have 4 elements", size.shape().ToString());
    DimVector dims;
    for (int32_t value : size.flat<int32_t>()) dims.push_back(value);
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build(dims));
    RETURN_IF_ERROR(CheckImage(shape));
    if (shape.dim_size(3) != grads.dim_size(3)) return errors::InvalidArgument("image_size and grads are incompatible");
    ASSIGN_OR_RETURN(const Boxes boxes, Boxes::Read(ctx.input(1), ctx.input(2), shape.dim_size(0)));
    if (boxes.count != grads.dim_size(0)) return errors::InvalidArgument("boxes and grads have incompatible shape");
    ASSIGN_OR_RETURN(Tensor sums, ctx.allocate_temp(DT_DOUBLE, shape));
    std::fill_n(sums.data<double>(), sums.NumElements(), 0.0);
    const int64_t c = shape.dim_size(3), crop_rows = grads.dim_size(1), crop_columns = grads.dim_size(2);
    EachCropPixel(boxes, 0, boxes.count, shape.dim_size(1), shape.dim_size(2), crop_rows, crop_columns, nearest_,
                  [&](int64_t b, int64_t y, int64_t x, const Place* p) {
                    if (p == nullptr) return;
                    const float* const g = grads.data<float>() + ((b * crop_rows + y) * crop_columns + x) * c;
                    const auto add = [&](int64_t row, int64_t column, float weight) {
                      double* const to = sums.data<double>() +
                                         ((boxes.image[b] * shape.dim_size(1) + row) * shape.dim_size(2) + column) * c;
                      for (int64_t k = 0; k < c; ++k) to[k] += weight * g[k];
                    };
                    add(p->top, p->left, (1 - p->y_rest) * (1 - p->x_rest));
                    add(p->top, p->right, (1 - p->y_rest) * p->x_rest);
                    add(p->bottom, p->left, p->y_rest * (1 - p->x_rest));
                    add(p->bottom, p->right, p->y_rest * p->x_rest);
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
    const TensorShape& in = ctx.input(1).shape();
    RETURN_IF_ERROR(CheckImage(in));
    if (grads.dims() != 4) return errors::InvalidArgument("grads image must be 4-D", grads.shape().ToString());
    if (grads.dim_size(1) <= 0 || grads.dim_size(2) <= 0)
      return errors::InvalidArgument("grads dimensions must be positive");
    if (in.dim_size(3) != grads.dim_size(3)) return errors::InvalidArgument("image, grads depth differ");
    ASSIGN_OR_RETURN(const Boxes boxes, Boxes::Read(ctx.input(2), ctx.input(3), in.dim_size(0)));
    if (boxes.count != grads.dim_size(0)) return errors::InvalidArgument("boxes and grads have incompatible shape");
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, TensorShape({boxes.count, 4})));
    std::fill_n(output->data<float>(), output->NumElements(), 0.0f);
    ASSIGN_OR_RETURN(const Tensor image, ConvertTensor(ctx, ctx.input(1), DT_FLOAT));
    const int64_t c = in.dim_size(3), crop_rows = grads.dim_size(1), crop_columns = grads.dim_size(2);
    EachCropPixel(
        boxes, 0, boxes.count, in.dim_size(1), in.dim_size(2), crop_rows, crop_columns, nearest_,
        [&](int64_t b, int64_t y, int64_t x, const Place* p) {
          if (p == nullptr) return;
          const float* const plane = image.data<float>() + boxes.image[b] * in.dim_size(1) * in.dim_size(2) * c;
          const float* const g = grads.data<float>() + ((b * crop_rows + y) * crop_columns + x) * c;
          const auto at = [&](int64_t row, int64_t column) { return plane + (row * in.dim_size(2) + column) * c; };
          const float *tl = at(p->top, p->left), *tr = at(p->top, p->right), *bl = at(p->bottom, p->left),
                      *br = at(p->bottom, p->right);
          float by_y = 0, by_x = 0;
          for (int64_t k = 0; k < c; ++k) {
            by_y += g[k] * ((1 - p->x_rest) * (bl[k] - tl[k]) + p->x_rest * (br[k] - tr[k]));
            by_x += g[k] * ((1 - p->y_rest) * (tr[k] - tl[k]) + p->y_rest * (br[k] - bl[k]));
          }
          const float* const box = boxes.corners + 4 * b;
          const auto [y1, y2] = Side(box[0], box[2], in.dim_size(1), crop_rows).Slopes(y);
          const auto [x1, x2] = Side(box[1], box[3], in.dim_size(2), crop_columns).Slopes(x);
          float* const out = output->data<float>() + 4 * b;
          out[0] += by_y * y1;
          out[1] += by_x * x1;
          out[2] += by_y * y2;
          out[3] += by_x * x2;
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
