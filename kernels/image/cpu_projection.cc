// ImageProjectiveTransform: each pixel of the output is looked up where a projection of the plane sends it.
#include <cmath>

#include "core/tensor/numeric_types.h"
#include "kernels/device/parallel.h"
#include "kernels/image/family.h"

namespace weir {
namespace {

enum class FillMode { kConstant, kReflect, kWrap, kNearest };

absl::StatusOr<FillMode> ReadFillMode(absl::string_view name) {
  if (name == "CONSTANT") return FillMode::kConstant;
  if (name == "REFLECT") return FillMode::kReflect;
  if (name == "WRAP") return FillMode::kWrap;
  if (name == "NEAREST") return FillMode::kNearest;
  return errors::InvalidArgument("Invalid mode ", name, ". Supported types: CONSTANT, REFLECT, WRAP, NEAREST");
}

// Where a coordinate beyond the edges [0, size) is looked up. Bounded, so that it can become an integer.
float MapCoordinate(float at, int64_t size, FillMode mode) {
  constexpr float kFar = 1e9f;
  at = std::isnan(at) ? -kFar : std::min(std::max(at, -kFar), kFar);
  const float last = static_cast<float>(size - 1), whole = static_cast<float>(size);
  switch (mode) {
    case FillMode::kConstant:
      return at;
    case FillMode::kReflect: {
      if (size <= 1) return 0;
      const float period = 2 * whole;
      if (at < 0) {
        if (at < period) at += period * std::trunc(-at / period);
        at = at < -whole ? at + period : -at - 1;
      } else if (at > last) {
        at -= period * std::trunc(at / period);
        if (at >= whole) at = period - at - 1;
      }
      break;
    }
    case FillMode::kWrap:
      if (size <= 1) return 0;
      if (at < 0) {
        at += whole * (std::trunc(-at / last) + 1);
      } else if (at > last) {
        at -= whole * std::trunc(at / last);
      }
      break;
    case FillMode::kNearest:
      break;
  }
  return std::min(std::max(at, 0.0f), last);
}

template <typename T>
struct Projection {
  const T* image;
  const float* transform;
  int64_t height, width, depth;
  FillMode mode;
  bool bilinear;
  T fill;

  T Read(int64_t y, int64_t x, int64_t k) const {
    return y >= 0 && y < height && x >= 0 && x < width ? image[(y * width + x) * depth + k] : fill;
  }

  void Pixel(int64_t row, int64_t column, T* out) const {
    const float x = static_cast<float>(column), y = static_cast<float>(row);
    const float* const t = transform;
    const float divisor = t[6] * x + t[7] * y + 1.0f;
    if (divisor == 0) {
      std::fill_n(out, depth, fill);
      return;
    }
    const float from_x = MapCoordinate((t[0] * x + t[1] * y + t[2]) / divisor, width, mode),
                from_y = MapCoordinate((t[3] * x + t[4] * y + t[5]) / divisor, height, mode);
    if (!bilinear) {
      for (int64_t k = 0; k < depth; ++k) out[k] = Read(std::lround(from_y), std::lround(from_x), k);
      return;
    }
    const float left = std::floor(from_x), top = std::floor(from_y);
    const int64_t x0 = static_cast<int64_t>(left), y0 = static_cast<int64_t>(top);
    const auto mix = [&](int64_t at, int64_t k) {
      return (left + 1 - from_x) * static_cast<float>(Read(at, x0, k)) +
             (from_x - left) * static_cast<float>(Read(at, x0 + 1, k));
    };
    for (int64_t k = 0; k < depth; ++k) {
      out[k] = static_cast<T>((top + 1 - from_y) * mix(y0, k) + (from_y - top) * mix(y0 + 1, k));
    }
  }
};

template <typename T>
class ProjectiveTransformKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    std::string interpolation, mode;
    RETURN_IF_ERROR(ctx.GetAttr("interpolation", &interpolation));
    RETURN_IF_ERROR(ctx.GetAttr("fill_mode", &mode));
    if (interpolation != "NEAREST" && interpolation != "BILINEAR") {
      return errors::InvalidArgument("Invalid interpolation ", interpolation, ". Supported types: NEAREST, BILINEAR");
    }
    bilinear_ = interpolation == "BILINEAR";
    ASSIGN_OR_RETURN(mode_, ReadFillMode(mode));
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor &images = ctx.input(0), &transforms = ctx.input(1), &size = ctx.input(2);
    if (images.dims() != 4) return errors::InvalidArgument("Input images must have rank 4");
    const int64_t batch = images.dim_size(0), height = images.dim_size(1), width = images.dim_size(2),
                  depth = images.dim_size(3);
    if (transforms.dims() != 2 || (transforms.dim_size(0) != batch && transforms.dim_size(0) != 1) ||
        transforms.dim_size(1) != 8) {
      return errors::InvalidArgument("Input transform should be num_images x 8 or 1 x 8");
    }
    if (size.dims() != 1) return errors::InvalidArgument("output shape must be 1-dimensional", size.shape().ToString());
    if (size.NumElements() != 2) {
      return errors::InvalidArgument("output shape must have two elements", size.shape().ToString());
    }
    const int64_t rows = size.data<int32_t>()[0], columns = size.data<int32_t>()[1];
    if (rows <= 0 || columns <= 0) return errors::InvalidArgument("output dimensions must be positive");
    float fill = 0;
    if (ctx.num_inputs() > 3) {
      if (ctx.input(3).dims() != 0) {
        return errors::InvalidArgument("fill_value must be a scalar", ctx.input(3).shape().ToString());
      }
      fill = ctx.input(3).scalar<float>();
    }
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build({batch, rows, columns, depth}));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    ParallelRanges(ctx, batch * rows, columns * (20'000 + depth * 8'000), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t b = i / rows;
        const Projection<T> projection{images.data<T>() + b * height * width * depth,
                                       transforms.data<float>() + (transforms.dim_size(0) == 1 ? 0 : 8 * b),
                                       height,
                                       width,
                                       depth,
                                       mode_,
                                       bilinear_,
                                       static_cast<T>(fill)};
        for (int64_t x = 0; x < columns; ++x) {
          projection.Pixel(i % rows, x, output->data<T>() + (i * columns + x) * depth);
        }
      }
    });
    return absl::OkStatus();
  }

 private:
  bool bilinear_ = false;
  FillMode mode_ = FillMode::kConstant;
};

}  // namespace

absl::Status RegisterProjectionKernels(KernelRegistry& kernels) {
  for (const char* op : {"ImageProjectiveTransformV2", "ImageProjectiveTransformV3"}) {
#define WEIR_REGISTER(T) \
  RETURN_IF_ERROR(kernels.Register<ProjectiveTransformKernel<T>>(Kernel(op).Cpu().Type<T>("dtype")));
    WEIR_REGISTER(uint8_t)
    WEIR_REGISTER(int32_t)
    WEIR_REGISTER(int64_t)
    WEIR_REGISTER(half)
    WEIR_REGISTER(bfloat16)
    WEIR_REGISTER(float)
    WEIR_REGISTER(double)
#undef WEIR_REGISTER
  }
  return absl::OkStatus();
}

}  // namespace weir
