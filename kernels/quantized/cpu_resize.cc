// Images of quantised integers, resized between their four nearest pixels.
#include <cstring>
#include <vector>

#include "kernels/device/parallel.h"
#include "kernels/image/args_resize.h"
#include "kernels/image/resize_grid.h"
#include "kernels/quantized/family.h"
#include "kernels/quantized/quantization.h"

namespace weir {
namespace {

// Between two pixels by fixed point, as TensorFlow does it: shares of 1 << kBits, halves rounded up.
template <typename T, int kBits>
struct FixedPointLerp {
  static constexpr int64_t kOne = int64_t{1} << kBits;
  static int64_t Share(float share) { return static_cast<int64_t>(share * static_cast<float>(kOne)); }
  T operator()(T top_left, T top_right, T bottom_left, T bottom_right, int64_t right, int64_t down) const {
    const int64_t top = Across(top_left, top_right, right), bottom = Across(bottom_left, bottom_right, right);
    return static_cast<T>((top + (bottom - top) / kOne * down + kOne / 2) / kOne);
  }

 private:
  // TensorFlow's wide integers pass through float.
  static int64_t Across(float left, float right, int64_t share) {
    const int64_t from = static_cast<int64_t>(left), to = static_cast<int64_t>(right);
    return from * kOne + (to - from) * share;
  }
};
struct FloatLerp {
  static float Share(float share) { return share; }
  float operator()(float top_left, float top_right, float bottom_left, float bottom_right, float right,
                   float down) const {
    const float top = top_left + (top_right - top_left) * right;
    const float bottom = bottom_left + (bottom_right - bottom_left) * right;
    return top + (bottom - top) * down;
  }
};

template <typename T, typename Lerp>
class QuantizedResizeKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("align_corners", &corners_));
    return ctx.GetAttr("half_pixel_centers", &centers_);
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    const char* const names[] = {"min", "max"};
    for (int i : {0, 1}) {
      if (ctx.input(2 + i).dims() != 0) return errors::InvalidArgument(names[i], " must be a scalar");
    }
    const TensorShape& in = ctx.input(0).shape();
    RETURN_IF_ERROR(CheckResized(in));
    ASSIGN_OR_RETURN(const auto size, ReadImageSize(ctx.input(1)));
    const int64_t channels = in.dim_size(3);
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build({in.dim_size(0), size.first, size.second, channels}));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    SetRange(ctx, 1, {ctx.input(2).scalar<float>(), ctx.input(3).scalar<float>()});
    if (output->NumElements() == 0) return absl::OkStatus();
    if (shape == in) {
      std::memcpy(output->raw_data(), ctx.input(0).raw_data(), output->NumElements() * sizeof(T));
      return absl::OkStatus();
    }
    const std::vector<Place> rows = Places(in.dim_size(1), size.first), columns = Places(in.dim_size(2), size.second);
    const int64_t in_row = in.dim_size(2) * channels, out_row = size.second * channels;
    ParallelRanges(ctx, in.dim_size(0) * size.first, out_row * 3000, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Place& row = rows[i % size.first];
        const T* const image =
            static_cast<const T*>(ctx.input(0).raw_data()) + i / size.first * in.dim_size(1) * in_row;
        T* const out = static_cast<T*>(output->raw_data()) + i * out_row;
        Row(image + row.low * in_row, image + row.high * in_row, row.share, columns, channels, out);
      }
    });
    return absl::OkStatus();
  }

 private:
  using Share = decltype(Lerp::Share(0));
  struct Place {
    int64_t low, high;
    Share share;
  };
  std::vector<Place> Places(int64_t in, int64_t out) const {
    const ResizeGrid grid = ResizeGrid::Of(in, out, corners_, centers_);
    std::vector<Place> places(out);
    for (int64_t i = 0; i < out; ++i) {
      const ResizeGrid::Between between = grid.Linear(i);
      places[i] = {between.low, between.high, Lerp::Share(between.share)};
    }
    return places;
  }
  static void Row(const T* top, const T* bottom, Share down, const std::vector<Place>& columns, int64_t channels,
                  T* out) {
    for (const Place& column : columns) {
      const int64_t left = column.low * channels, right = column.high * channels;
      for (int64_t c = 0; c < channels; ++c) {
        *out++ = Lerp()(top[left + c], top[right + c], bottom[left + c], bottom[right + c], column.share, down);
      }
    }
  }

  bool corners_ = false, centers_ = false;
};

template <typename T, typename Lerp>
absl::Status RegisterResize(KernelRegistry& kernels, DataType type) {
  return kernels.Register<QuantizedResizeKernel<T, Lerp>>(
      Kernel("QuantizedResizeBilinear").Cpu().Types("T", {type}).HostMemory("size"));
}

}  // namespace

absl::Status RegisterQuantizedResizeKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR((RegisterResize<uint8_t, FixedPointLerp<uint8_t, 7>>(kernels, DT_QUINT8)));
  RETURN_IF_ERROR((RegisterResize<int32_t, FixedPointLerp<int32_t, 30>>(kernels, DT_QINT32)));
  return RegisterResize<float, FloatLerp>(kernels, DT_FLOAT);
}

}  // namespace weir
