// Batch normalisation with given moments, and its gradient.
#include <cmath>

#include "kernels/device/wide.h"
#include "kernels/normalization/family.h"

namespace weir {
namespace {

// (t - mean) / sqrt(variance + epsilon), times gamma where asked, plus beta; all but t are vectors of channels.
template <bool kGradient>
class GlobalNormalizationKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    RETURN_IF_ERROR(ctx.GetAttr("variance_epsilon", &epsilon_));
    return ctx.GetAttr("scale_after_normalization", &scale_);
  }

  // Inputs: t, m, v, beta, gamma; for the gradient t, m, v, gamma, backprop.
  absl::Status Compute(OpKernelContext& ctx) override {
    const TensorShape& shape = ctx.input(0).shape();
    if (shape.dims() != 4) return errors::InvalidArgument("input must be 4-dimensional", shape.ToString());
    const int64_t channels = shape.dim_size(3);
    Tensor in[5];
    static constexpr const char* kNames[2][5] = {{"t", "mean", "var", "beta", "gamma"},
                                                 {"t", "mean", "var", "gamma", "backprop"}};
    for (int i = 0; i < 5; ++i) {
      const bool image = i == 0 || (kGradient && i == 4);
      if (image ? ctx.input(i).shape() != shape : ctx.input(i).dims() != 1 || ctx.input(i).dim_size(0) != channels) {
        return errors::InvalidArgument(
            kNames[kGradient][i], image ? " must be as large as t" : " must be 1-dimensional, one for each channel: ",
            ctx.input(i).shape().ToString());
      }
      ASSIGN_OR_RETURN(in[i], Widen(ctx, ctx.input(i)));
    }
    std::vector<WideOutput> out(kGradient ? 5 : 1);
    for (int i = 0; i < static_cast<int>(out.size()); ++i) {
      ASSIGN_OR_RETURN(out[i], WideOutput::Allocate(ctx, i, i == 0 ? shape : TensorShape({channels})));
    }
    RETURN_IF_ERROR(VisitWide(in[0].dtype(), [&](auto element) {
      Run<decltype(element)>(in, channels, out);
      return absl::OkStatus();
    }));
    for (WideOutput& output : out) RETURN_IF_ERROR(output.Finish(ctx));
    return absl::OkStatus();
  }

 private:
  template <typename T>
  void Run(const Tensor* in, int64_t channels, std::vector<WideOutput>& out) const {
    const T *t = in[0].data<T>(), *mean = in[1].data<T>(), *variance = in[2].data<T>();
    const int64_t n = in[0].NumElements();
    const T* const gamma = in[kGradient ? 3 : 4].data<T>();
    std::vector<T> root(channels), factor(channels);
    for (int64_t c = 0; c < channels; ++c) {
      root[c] = T(1) / std::sqrt(variance[c] + static_cast<T>(epsilon_));
      factor[c] = scale_ ? root[c] * gamma[c] : root[c];
    }
    T* const first = out[0].template data<T>();
    if constexpr (!kGradient) {
      const T* const beta = in[3].data<T>();
      for (int64_t i = 0; i < n; ++i)
        first[i] = (t[i] - mean[i % channels]) * factor[i % channels] + beta[i % channels];
    } else {
      const T* const dy = in[4].data<T>();
      T *dm = out[1].template data<T>(), *dv = out[2].template data<T>(), *db = out[3].template data<T>(),
        *dg = out[4].template data<T>();
      for (T* vector : {dm, dv, db, dg}) std::fill_n(vector, channels, T(0));
      for (int64_t i = 0; i < n; ++i) {
        const int64_t c = i % channels;
        first[i] = dy[i] * factor[c];
        db[c] += dy[i];
        dv[c] += dy[i] * (t[i] - mean[c]);
      }
      for (int64_t c = 0; c < channels; ++c) {
        dm[c] = -db[c] * factor[c];
        if (scale_) dg[c] = dv[c] * root[c];
        dv[c] *= T(-0.5) * factor[c] * root[c] * root[c];
      }
    }
  }

  float epsilon_ = 0;
  bool scale_ = false;
};

}  // namespace

absl::Status RegisterGlobalNormalizationKernels(KernelRegistry& kernels) {
  const DataTypeVector floats = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16};
  RETURN_IF_ERROR(kernels.Register<GlobalNormalizationKernel<false>>(
      Kernel("BatchNormWithGlobalNormalization").Cpu().Types("T", floats)));
  RETURN_IF_ERROR(kernels.Register<GlobalNormalizationKernel<true>>(
      Kernel("BatchNormWithGlobalNormalizationGrad").Cpu().Types("T", floats)));
  return absl::OkStatus();
}

}  // namespace weir
