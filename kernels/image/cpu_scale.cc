// ScaleAndTranslate: resampling by a kernel of any width, separately along rows and columns; and its gradient.
#include <cmath>
#include <functional>
#include <limits>

#include "kernels/device/parallel.h"
#include "kernels/device/wide.h"
#include "kernels/image/family.h"

namespace weir {
namespace {

// A weight for each distance up to `radius`.
struct SamplingKernel {
  float radius = 0;
  std::function<float(float)> weight;
};

SamplingKernel Lanczos(float radius) {
  return {radius, [radius](float x) {
            constexpr float kPi = 3.14159265359f;
            x = std::abs(x);
            if (x > radius) return 0.0f;
            if (x <= 1e-3f) return 1.0f;
            return radius * std::sin(kPi * x) * std::sin(kPi * x / radius) / (kPi * kPi * x * x);
          }};
}

absl::StatusOr<SamplingKernel> FindKernel(absl::string_view name) {
  if (name == "lanczos1") return Lanczos(1);
  if (name == "lanczos3") return Lanczos(3);
  if (name == "lanczos5") return Lanczos(5);
  if (name == "gaussian") {
    return SamplingKernel{1.5f, [](float x) { return std::abs(x) >= 1.5f ? 0 : std::exp(-x * x / (2 * 0.25f)); }};
  }
  if (name == "box") {
    return SamplingKernel{1.0f, [](float x) {
                            x = std::abs(x);
                            return x < 0.5f ? 1.0f : x == 0.5f ? 0.5f : 0.0f;
                          }};
  }
  if (name == "triangle") {
    return SamplingKernel{1.0f, [](float x) { return std::max(0.0f, 1.0f - std::abs(x)); }};
  }
  if (name == "keyscubic") {
    return SamplingKernel{2.0f, [](float x) {
                            x = std::abs(x);
                            if (x >= 2) return 0.0f;
                            if (x >= 1) return ((-0.5f * x + 2.5f) * x - 4.0f) * x + 2.0f;
                            return ((1.5f * x - 2.5f) * x) * x + 1.0f;
                          }};
  }
  if (name == "mitchellcubic") {
    return SamplingKernel{2.0f, [](float x) {
                            x = std::abs(x);
                            if (x >= 2) return 0.0f;
                            if (x >= 1) return (((-7.0f / 18.0f) * x + 2.0f) * x - 10.0f / 3.0f) * x + 16.0f / 9.0f;
                            return (((7.0f / 6.0f) * x - 2.0f) * x) * x + 8.0f / 9.0f;
                          }};
  }
  return errors::InvalidArgument("Unrecognized kernel type: ", name);
}

// Which inputs each output of one dimension is made from: from starts[i] on, `width` weights of which the last may be
// 0.
struct Spans {
  int64_t width = 0;
  std::vector<int64_t> starts;
  std::vector<float> weights;
};

absl::StatusOr<Spans> MakeSpans(const SamplingKernel& kernel, int64_t in, int64_t out, float scale, float translation,
                                bool antialias) {
  if (!(scale > 0)) return errors::InvalidArgument("Scale must be greater than zero.");
  const float inverse = 1.0f / scale, shift = -inverse * translation;
  if (!std::isfinite(inverse) || !std::isfinite(shift)) {
    return errors::InvalidArgument("Scale and translation are out of range: ", scale, ", ", translation);
  }
  const float stretch = antialias ? std::max(inverse, 1.0f) : 1.0f, reach = kernel.radius * stretch;
  Spans spans;
  const double widest = 2.0 * std::ceil(static_cast<double>(reach)) + 1;
  spans.width = static_cast<int64_t>(std::min(widest, static_cast<double>(in)));
  if (MultiplyWithoutOverflow(spans.width, out) < 0 || spans.width * out > int64_t{1} << 28) {
    return errors::InvalidArgument("Resampling ", in, " to ", out, " at scale ", scale, " takes too many weights");
  }
  spans.starts.assign(out, 0);
  spans.weights.assign(out * spans.width, 0);
  for (int64_t i = 0; i < out; ++i) {
    const float at = (static_cast<float>(i) + 0.5f) * inverse + shift;
    if (!(at >= 0) || at > static_cast<float>(in)) continue;
    const float last = static_cast<float>(in - 1);
    const float low = std::min(std::max(std::ceil(at - reach - 0.5f), 0.0f), last),
                high = std::min(std::max(std::floor(at + reach - 0.5f), 0.0f), last);
    const int64_t first = static_cast<int64_t>(low),
                  count = std::min(static_cast<int64_t>(high) + 1 - first, spans.width);
    float sum = 0;
    float* const weights = spans.weights.data() + i * spans.width;
    for (int64_t j = 0; j < count; ++j) {
      weights[j] = kernel.weight((static_cast<float>(first + j) + 0.5f - at) / stretch);
      sum += weights[j];
    }
    if (std::abs(sum) >= 1000.0f * std::numeric_limits<float>::min()) {
      for (int64_t j = 0; j < count; ++j) weights[j] /= sum;
    }
    spans.starts[i] = std::min(first, in - spans.width);
    // Spans that would reach beyond the last input begin earlier, with zeros in front.
    const int64_t moved = first - spans.starts[i];
    for (int64_t j = count - 1; moved > 0 && j >= 0; --j) weights[j + moved] = std::exchange(weights[j], 0.0f);
  }
  return spans;
}

class ScaleAndTranslateKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    gradient_ = ctx.op() == "ScaleAndTranslateGrad";
    std::string name;
    RETURN_IF_ERROR(ctx.GetAttr("kernel_type", &name));
    RETURN_IF_ERROR(ctx.GetAttr("antialias", &antialias_));
    ASSIGN_OR_RETURN(kernel_, FindKernel(name));
    return absl::OkStatus();
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    // The image that is, or was, resampled, and the size of the result.
    const TensorShape& image = ctx.input(gradient_ ? 1 : 0).shape();
    if (image.dims() != 4) return errors::InvalidArgument("input must be 4-dimensional", image.ToString());
    ASSIGN_OR_RETURN(const TensorShape shape, OutputShape(ctx, image));
    constexpr int kFirst = 2;
    for (int i : {kFirst, kFirst + 1}) {
      if (ctx.input(i).dims() != 1 || ctx.input(i).NumElements() != 2) {
        return errors::InvalidArgument("t must have two elements", ctx.input(i).shape().ToString());
      }
    }
    const float *scale = ctx.input(kFirst).data<float>(), *shift = ctx.input(kFirst + 1).data<float>();
    Spans spans[2];
    for (int d : {0, 1}) {
      ASSIGN_OR_RETURN(
          spans[d], MakeSpans(kernel_, image.dim_size(1 + d), shape.dim_size(1 + d), scale[d], shift[d], antialias_));
    }
    if (gradient_) return Gradient(ctx, image, shape, spans);
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const Tensor in, ConvertTensor(ctx, ctx.input(0), DT_FLOAT));
    ASSIGN_OR_RETURN(const TensorShape between,
                     TensorShape::Build({shape.dim_size(0), shape.dim_size(1), image.dim_size(2), shape.dim_size(3)}));
    ASSIGN_OR_RETURN(Tensor rows, ctx.allocate_temp(DT_FLOAT, between));
    Resample(ctx, spans[0], in.data<float>(), shape.dim_size(0), image.dim_size(1), shape.dim_size(1),
             image.dim_size(2) * shape.dim_size(3), rows.data<float>());
    Resample(ctx, spans[1], rows.data<float>(), shape.dim_size(0) * shape.dim_size(1), image.dim_size(2),
             shape.dim_size(2), shape.dim_size(3), output->data<float>());
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<TensorShape> OutputShape(OpKernelContext& ctx, const TensorShape& image) const {
    if (image.dim_size(1) <= 0 || image.dim_size(2) <= 0 || image.dim_size(3) <= 0) {
      return errors::InvalidArgument("input image must be of non-zero size");
    }
    if (gradient_) {
      const TensorShape& grads = ctx.input(0).shape();
      if (grads.dims() != 4 || grads.dim_size(0) != image.dim_size(0) || grads.dim_size(3) != image.dim_size(3)) {
        return errors::InvalidArgument("grads must be images as the input is: ", grads.ToString());
      }
      return grads;
    }
    const Tensor& size = ctx.input(1);
    if (size.dims() != 1 || size.NumElements() != 2) {
      return errors::InvalidArgument("output_shape_t must have two elements", size.shape().ToString());
    }
    const int64_t rows = size.data<int32_t>()[0], columns = size.data<int32_t>()[1];
    if (rows <= 0 || columns <= 0) return errors::InvalidArgument("output dimensions must be positive");
    return TensorShape::Build({image.dim_size(0), rows, columns, image.dim_size(3)});
  }

  // Along the middle dimension of [outer, in, inner].
  static void Resample(OpKernelContext& ctx, const Spans& spans, const float* in, int64_t outer, int64_t in_size,
                       int64_t out_size, int64_t inner, float* out) {
    ParallelRanges(ctx, outer * out_size, inner * spans.width * 500, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t place = i % out_size;
        const float* const from = in + (i / out_size * in_size + spans.starts[place]) * inner;
        const float* const weights = spans.weights.data() + place * spans.width;
        float* const to = out + i * inner;
        std::fill_n(to, inner, 0.0f);
        for (int64_t j = 0; j < spans.width; ++j) {
          for (int64_t k = 0; k < inner; ++k) to[k] += weights[j] * from[j * inner + k];
        }
      }
    });
  }

  absl::Status Gradient(OpKernelContext& ctx, const TensorShape& image, const TensorShape& grads,
                        const Spans* spans) const {
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, image));
    std::fill_n(output->data<float>(), output->NumElements(), 0.0f);
    const int64_t depth = image.dim_size(3);
    const float* from = ctx.input(0).data<float>();
    for (int64_t b = 0; b < grads.dim_size(0); ++b) {
      float* const plane = output->data<float>() + b * image.dim_size(1) * image.dim_size(2) * depth;
      for (int64_t y = 0; y < grads.dim_size(1); ++y) {
        for (int64_t x = 0; x < grads.dim_size(2); ++x, from += depth) {
          for (int64_t i = 0; i < spans[0].width; ++i) {
            for (int64_t j = 0; j < spans[1].width; ++j) {
              const float weight = spans[0].weights[y * spans[0].width + i] * spans[1].weights[x * spans[1].width + j];
              if (weight == 0) continue;
              float* const to = plane + ((spans[0].starts[y] + i) * image.dim_size(2) + spans[1].starts[x] + j) * depth;
              for (int64_t k = 0; k < depth; ++k) to[k] += weight * from[k];
            }
          }
        }
      }
    }
    return absl::OkStatus();
  }

  bool gradient_ = false, antialias_ = true;
  SamplingKernel kernel_;
};

}  // namespace

absl::Status RegisterScaleKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<ScaleAndTranslateKernel>(
      Kernel("ScaleAndTranslate")
          .Cpu()
          .Types("T", {DT_INT8, DT_UINT8, DT_INT16, DT_UINT16, DT_INT32, DT_INT64, DT_BFLOAT16, DT_HALF, DT_FLOAT,
                       DT_DOUBLE})));
  return kernels.Register<ScaleAndTranslateKernel>(Kernel("ScaleAndTranslateGrad").Cpu().Types("T", {DT_FLOAT}));
}

}  // namespace weir
