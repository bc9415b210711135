// Colours: hue, saturation and value, and adjusting them and the contrast.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cpu/numeric_families.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/wide.h"

namespace weir {
namespace {

template <typename T>
void ToHsv(const T* rgb, T* hsv) {
  const T r = rgb[0], g = rgb[1], b = rgb[2];
  const T value = std::max(r, std::max(g, b)), range = value - std::min(r, std::min(g, b));
  T hue = 0;
  if (range > 0) {
    const T unit = T(1) / (T(6) * range);
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
    } else {
      T hsv[3];
      ToHsv(in, hsv);
      if constexpr (kChange == Change::kHue) {
        hsv[0] += amount;
        hsv[0] -= std::floor(hsv[0]);
      } else {
        hsv[1] = std::min(std::max(hsv[1] * amount, T(0)), T(1));
      }
      ToRgb(hsv, out);
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
