// Colours: hue, saturation and value, and adjusting them and the contrast.
#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "kernels/device/parallel.h"
#include "kernels/device/wide.h"
#include "kernels/image/family.h"

namespace weir {
namespace {

template <typename T>
void ToHsv(const T* rgb, T* hsv) {
  const T r = rgb[0], g = rgb[1], b = rgb[2];
  const T value = std::max(r, std::max(g, b)), range = value - std::min(r, std::min(g, b));
  T hue = 0;
  if (range > 0) {
    const T unit = T(1) / range * (T(1) / T(6));
    hue = r == value ? unit * (g - b) : g == value ? unit * (b - r) + T(2) / T(6) : unit * (r - g) + T(4) / T(6);
    if (hue < 0) hue += 1;
  }
  hsv[0] = hue;
  hsv[1] = value > 0 ? range / value : T(0);
  hsv[2] = value;
}

template <typename T>
void ToRgb(const T* hsv, T* rgb) {
  const T six = hsv[0] * T(6), saturation = hsv[1], value = hsv[2];
  const auto clamp = [](T x) { return std::min(std::max(x, T(0)), T(1)); };
  const T parts[3] = {clamp(std::abs(six - T(3)) - T(1)), clamp(T(2) - std::abs(six - T(2))),
                      clamp(T(2) - std::abs(six - T(4)))};
  for (int i = 0; i < 3; ++i) rgb[i] = (T(1) - saturation + saturation * parts[i]) * value;
}

// A colour's hue and range in TensorFlow's order of operations, so that the last bit agrees. The hue is in [0, 6].
struct HueAndRange {
  float hue, low, high;
};

HueAndRange ToHueAndRange(const float* rgb) {
  const float r = rgb[0], g = rgb[1], b = rgb[2];
  float high, middle, low;
  int sixth;  // of the circle
  const auto order = [&](float top, float between, float bottom, int n) {
    high = top, middle = between, low = bottom, sixth = n;
  };
  if (r < g) {
    b<r ? order(g, r, b, 1) : b> g ? order(b, g, r, 3) : order(g, b, r, 2);
  } else {
    b<g ? order(r, g, b, 0) : b> r ? order(b, r, g, 4) : order(r, b, g, 5);
  }
  if (high == low) return {0, low, high};
  const float ratio = (middle - low) / (high - low);
  return {static_cast<float>(sixth) + (sixth % 2 == 0 ? ratio : 1 - ratio), low, high};
}

// `in` with its hue moved by `delta` turns.
void MoveHue(const float* in, float delta, float* out) {
  const HueAndRange from = ToHueAndRange(in);
  const float low = from.low, high = from.high;
  float hue = std::fmod(from.hue + delta * 6, 6.0F);
  if (hue < 0) hue += 6;
  if (hue >= 6) hue -= 6;
  const int sixth = hue >= 0 ? static_cast<int>(hue) : 5;  // 5 also for what is no number
  const float part = hue - static_cast<float>(sixth);
  const float middle = low + (sixth % 2 == 0 ? part : 1 - part) * (high - low);
  const float rgb[6][3] = {{high, middle, low}, {middle, high, low}, {low, high, middle},
                           {low, middle, high}, {middle, low, high}, {high, low, middle}};
  std::copy_n(rgb[sixth], 3, out);
}

// `in` with its saturation times `scale`, in TensorFlow's order of operations.
void ScaleSaturation(const float* in, float scale, float* out) {
  const float r = in[0], g = in[1], b = in[2];
  const float value = std::max(r, std::max(g, b)), range = value - std::min(r, std::min(g, b));
  float hue = 0;
  if (range > 0) {
    const float unit = 1.0F / (6.0F * range);
    hue = static_cast<float>(r == value   ? unit * (g - b)
                             : g == value ? unit * (b - r) + 2.0 / 6.0
                                          : unit * (r - g) + 4.0 / 6.0);
    if (hue < 0) hue += 1;
  }
  const float saturation = std::min(1.0F, std::max(0.0F, (value > 0 ? range / value : 0.0F) * scale));
  const float chroma = saturation * value, rest = value - chroma, six = hue * 6;
  const int sixth = six >= 0 && six < 6 ? static_cast<int>(six) : 6;
  float within = std::fmod(six, 2.0F);  // a pair of sixths
  if (within <= 0) within += 2;
  if (within >= 2) within -= 2;
  const float x = chroma * (1 - std::abs(within - 1));
  const float rgb[7][3] = {{chroma, x, 0}, {x, chroma, 0}, {0, chroma, x}, {0, x, chroma},
                           {x, 0, chroma}, {chroma, 0, x}, {0, 0, 0}};
  for (int i = 0; i < 3; ++i) out[i] = rgb[sixth][i] + rest;
}

enum class Change { kToHsv, kToRgb, kHue, kSaturation };

// Works on one colour at a time; the amount is input 1 where there is one.
template <Change kChange>
class ColorKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& image = ctx.input(0);
    constexpr bool kAdjusts = kChange == Change::kHue || kChange == Change::kSaturation;
    if (kAdjusts && image.dims() < 3) {
      return errors::InvalidArgument("input must be at least 3-D, got shape", image.shape().ToString());
    }
    if (image.dims() < 1) return errors::InvalidArgument("input must be at least 1D", image.shape().ToString());
    if (image.dim_size(image.dims() - 1) != 3) {
      const int64_t channels = image.dim_size(image.dims() - 1);
      if (kAdjusts)
        return errors::InvalidArgument("input must have 3 channels but instead has ", channels, " channels.");
      return errors::FailedPrecondition("input must have 3 channels but input only has ", channels, " channels.");
    }
    float amount = 0;
    if (kAdjusts) {
      if (ctx.input(1).dims() != 0) {
        return errors::InvalidArgument(kChange == Change::kHue ? "delta" : "scale",
                                       " must be scalar: ", ctx.input(1).shape().ToString());
      }
      amount = ctx.input(1).scalar<float>();
    }
    ASSIGN_OR_RETURN(const Tensor wide, Widen(ctx, image));
    ASSIGN_OR_RETURN(WideOutput output, WideOutput::Allocate(ctx, 0, image.shape()));
    RETURN_IF_ERROR(VisitWide(wide.dtype(), [&](auto element) {
      using T = decltype(element);
      ParallelRanges(ctx, wide.NumElements() / 3, 20'000, [&](int64_t begin, int64_t end) {
        for (int64_t i = 3 * begin; i < 3 * end; i += 3)
          Apply(wide.data<T>() + i, static_cast<T>(amount), output.data<T>() + i);
      });
      return absl::OkStatus();
    }));
    return output.Finish(ctx);
  }

 private:
  template <typename T>
  static void Apply(const T* in, T amount, T* out) {
    if constexpr (kChange == Change::kToHsv) {
      ToHsv(in, out);
    } else if constexpr (kChange == Change::kToRgb) {
      ToRgb(in, out);
    } else if constexpr (std::is_same_v<T, float>) {  // halves are adjusted as floats, and there are no doubles
      kChange == Change::kHue ? MoveHue(in, amount, out) : ScaleSaturation(in, amount, out);
    }
  }
};

// Away from, or towards, the mean of each channel of each image.
class AdjustContrastKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& image = ctx.input(0);
    if (image.dims() < 3)
      return errors::InvalidArgument("input must be at least 3-D, got shape", image.shape().ToString());
    if (ctx.input(1).dims() != 0) {
      return errors::InvalidArgument("contrast_factor must be scalar: ", ctx.input(1).shape().ToString());
    }
    const float factor = ctx.input(1).scalar<float>();
    ASSIGN_OR_RETURN(const Tensor wide, Widen(ctx, image));
    ASSIGN_OR_RETURN(WideOutput output, WideOutput::Allocate(ctx, 0, image.shape()));
    if (image.NumElements() > 0) {
      const int rank = image.dims();
      const int64_t channels = image.dim_size(rank - 1),
                    plane = image.dim_size(rank - 3) * image.dim_size(rank - 2) * channels;
      ParallelRanges(ctx, image.NumElements() / plane, plane * 2'000, [&](int64_t begin, int64_t end) {
        std::vector<double> means(channels);
        for (int64_t b = begin; b < end; ++b) {
          const float* const in = wide.data<float>() + b * plane;
          float* const out = output.data<float>() + b * plane;
          std::fill(means.begin(), means.end(), 0.0);
          for (int64_t i = 0; i < plane; ++i) means[i % channels] += in[i];
          for (double& mean : means) mean /= static_cast<double>(plane / channels);
          for (int64_t i = 0; i < plane; ++i) {
            const float mean = static_cast<float>(means[i % channels]);
            out[i] = (in[i] - mean) * factor + mean;
          }
        }
      });
    }
    return output.Finish(ctx);
  }
};

}  // namespace

absl::Status RegisterImageColorKernels(KernelRegistry& kernels) {
  const DataTypeVector floats = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16}, narrow = {DT_FLOAT, DT_HALF};
  RETURN_IF_ERROR(kernels.Register<ColorKernel<Change::kToHsv>>(Kernel("RGBToHSV").Cpu().Types("T", floats)));
  RETURN_IF_ERROR(kernels.Register<ColorKernel<Change::kToRgb>>(Kernel("HSVToRGB").Cpu().Types("T", floats)));
  RETURN_IF_ERROR(kernels.Register<ColorKernel<Change::kHue>>(Kernel("AdjustHue").Cpu().Types("T", narrow)));
  RETURN_IF_ERROR(
      kernels.Register<ColorKernel<Change::kSaturation>>(Kernel("AdjustSaturation").Cpu().Types("T", narrow)));
  return kernels.Register<AdjustContrastKernel>(Kernel("AdjustContrastv2").Cpu().Types("T", narrow));
}

}  // namespace weir
