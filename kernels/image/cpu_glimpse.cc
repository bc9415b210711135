// ExtractGlimpse: a window of each image, around a place of its own; what lies outside of the image is noise or zero.
#include <algorithm>
#include <cmath>
#include <random>

#include "kernels/image/family.h"
#include "kernels/random/philox.h"
#include "kernels/random/random_fill.h"

namespace weir {
namespace {

// The first pixel of the window as a whole number, within what an image can have.
int64_t Truncate(float place) {
  constexpr float kFar = 1e9f;
  return std::isnan(place) ? static_cast<int64_t>(-kFar) : static_cast<int64_t>(std::min(std::max(place, -kFar), kFar));
}

class GlimpseKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    // The first version is half a window off where coordinates are not both normalised and centered.
    first_version_ = ctx.op() == "ExtractGlimpse";
    bool uniform;
    RETURN_IF_ERROR(ctx.GetAttr("normalized", &normalized_));
    RETURN_IF_ERROR(ctx.GetAttr("centered", &centered_));
    RETURN_IF_ERROR(ctx.GetAttr("uniform_noise", &uniform));
    RETURN_IF_ERROR(ctx.GetAttr("noise", &noise_));
    if (uniform && noise_ != "uniform") {
      return errors::InvalidArgument("The uniform_noise and noise should not be specified at the same time");
    }
    if (noise_ != "uniform" && noise_ != "gaussian" && noise_ != "zero") {
      return errors::InvalidArgument("ExtractGlimpse should use one of {uniform, gaussian, zero} as noise, not ",
                                     noise_);
    }
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor &input = ctx.input(0), &size = ctx.input(1), &offsets = ctx.input(2);
    if (input.dims() != 4) {
      return errors::InvalidArgument("input must be 4-dimensional (batch_size, height, width, depth)",
                                     input.shape().ToString());
    }
    if (size.dims() != 1 || size.NumElements() != 2) {
      return errors::InvalidArgument("input must be a vector of size 2 (height, width)", size.shape().ToString());
    }
    const int64_t height = size.data<int32_t>()[0], width = size.data<int32_t>()[1];
    if (height < 0 || width < 0)
      return errors::InvalidArgument("Expected a non-negative size, got ", std::min(height, width));
    if (offsets.dims() != 2) {
      return errors::InvalidArgument("input must be a matrix", offsets.shape().ToString());
    }
    const int64_t batch = input.dim_size(0);
    if (offsets.dim_size(0) != batch) {
      return errors::InvalidArgument("first dimension should be batch", offsets.shape().ToString());
    }
    if (offsets.dim_size(1) != 2) {
      return errors::InvalidArgument("second dimension should be of size 2 (y,x)", offsets.shape().ToString());
    }
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build({batch, height, width, input.dim_size(3)}));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    for (int64_t b = 0; b < batch && output->NumElements() > 0; ++b) {
      const float* const at = offsets.data<float>() + 2 * b;
      Cut(input, b, Truncate(Start(at[0], input.dim_size(1), height)), Truncate(Start(at[1], input.dim_size(2), width)),
          output);
    }
    return absl::OkStatus();
  }

 private:
  float Start(float place, int64_t in, int64_t window) const {
    const float whole = static_cast<float>(in), half_window = static_cast<float>(window) / 2.0f;
    if (normalized_) place *= whole;
    if (first_version_) {
      if (centered_) place = place / 2.0f + whole / 2.0f;
      return place - half_window;
    }
    if (normalized_ && centered_) return place / 2.0f + whole / 2.0f - half_window;
    return centered_ ? place + whole / 2.0f : place;
  }

  void Cut(const Tensor& input, int64_t b, int64_t top, int64_t left, Tensor* output) const {
    const int64_t rows = input.dim_size(1), columns = input.dim_size(2), depth = input.dim_size(3),
                  height = output->dim_size(1), width = output->dim_size(2);
    const float* const in = input.data<float>() + b * rows * columns * depth;
    float* const out = output->data<float>() + b * height * width * depth;
    if (top < 0 || left < 0 || top + height > rows || left + width > columns) {
      FillNoise(in, rows * columns * depth, out, height * width * depth);
    }
    for (int64_t y = std::max<int64_t>(0, -top); y < height && y + top < rows; ++y) {
      const int64_t from = std::max<int64_t>(0, -left), to = std::min(width, columns - left);
      if (from >= to) break;
      std::copy_n(in + ((y + top) * columns + from + left) * depth, (to - from) * depth,
                  out + (y * width + from) * depth);
    }
  }

  // Spread as the image's values are.
  void FillNoise(const float* in, int64_t n, float* out, int64_t count) const {
    if (noise_ == "zero" || n == 0) {
      std::fill_n(out, count, 0.0f);
      return;
    }
    thread_local std::mt19937 generator{std::random_device()()};
    if (noise_ == "uniform") {
      const auto [low, high] = std::minmax_element(in, in + n);
      for (int64_t i = 0; i < count; ++i) out[i] = *low + UniformFloat(generator()) * (*high - *low);
      return;
    }
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; ++i) sum += in[i];
    const double mean = sum / static_cast<double>(n);
    for (int64_t i = 0; i < n; ++i) squares += (in[i] - mean) * (in[i] - mean);
    const double deviation = std::sqrt(squares / static_cast<double>(n));
    for (int64_t i = 0; i < count; ++i) {
      float x, y;
      NormalFloats(generator(), generator(), &x, &y);
      out[i] = static_cast<float>(mean + x * deviation);
    }
  }

  bool first_version_ = false, normalized_ = true, centered_ = true;
  std::string noise_;
};

}  // namespace

absl::Status RegisterGlimpseKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<GlimpseKernel>(Kernel("ExtractGlimpse").Cpu()));
  return kernels.Register<GlimpseKernel>(Kernel("ExtractGlimpseV2").Cpu());
}

}  // namespace weir
