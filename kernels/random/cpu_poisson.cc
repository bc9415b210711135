// Poisson-distributed numbers: by multiplying uniform ones below a rate of 10 (Knuth), else by transformed rejection
// (Hoermann, 1993).
#include "core/tensor/index_tensor.h"
#include "core/tensor/numeric_types.h"
#include "kernels/coordination/shape_suffix.h"
#include "kernels/device/parallel.h"
#include "kernels/device/wide.h"
#include "kernels/elementwise/cast/cpu_cast.h"
#include "kernels/random/family.h"
#include "kernels/random/random_fill.h"
#include "kernels/random/random_samples.h"
#include "kernels/random/stateless_random.h"

namespace weir {
namespace {

double LogGamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}

// `infinity` is that of the output's type.
double DrawPoisson(double rate, double infinity, Philox stream) {
  Uniforms<double> uniforms;
  if (rate < 0) return 0;
  if (rate == std::numeric_limits<double>::infinity()) return infinity;
  if (std::isnan(rate)) return std::numeric_limits<double>::quiet_NaN();
  if (rate < 10) {
    const double enough = std::exp(-rate);
    double product = 1, count = 0;
    for (;; count += 1) {
      product = product * uniforms.Next(stream);
      if (product <= enough) return count;
    }
  }
  const double log_rate = std::log(rate);
  const double b = 0.931 + 2.53 * std::sqrt(rate);
  const double a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  for (;;) {
    const double u = uniforms.Next(stream) - 0.5, v = uniforms.Next(stream);
    const double shifted = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / shifted + b) * u + rate + 0.43);
    if (shifted >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2)) return k;
    if (k < 0 || (shifted < 0.013 && v > shifted)) continue;
    const double s = std::log(v * inverse_alpha / (a / (shifted * shifted) + b));
    const double t = -rate + k * log_rate - LogGamma(k + 1);
    if (s <= t) return k;
  }
}

// Number i belongs to rate i / samples; results lie as [samples, rates]. They will be converted to `type`.
void FillPoisson(OpKernelContext& ctx, const Tensor& rates, DataType type, const Philox& base, Tensor* output) {
  const int64_t n = rates.NumElements(), samples = output->NumElements() / n;
  double* const out = output->data<double>();
  const double infinity = IsFloating(type) ? std::numeric_limits<double>::infinity() : 0;
  ParallelRanges(ctx, output->NumElements(), 150'000, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Philox stream = base;
      stream.Skip(i * kGroupsPerSample);
      out[i % samples * n + i / samples] = DrawPoisson(rates.data<double>()[i / samples], infinity, stream);
    }
  });
}

absl::Status DrawCounts(OpKernelContext& ctx, const TensorShape& shape, const Tensor& given, const Philox& base) {
  ASSIGN_OR_RETURN(const Tensor rates, ConvertTensor(ctx, given, DT_DOUBLE));
  ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
  if (shape.num_elements() == 0) return absl::OkStatus();
  const DataType type = output->dtype();
  if (type == DT_DOUBLE) {
    FillPoisson(ctx, rates, type, base, output);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(Tensor counts, ctx.allocate_temp(DT_DOUBLE, shape));
  FillPoisson(ctx, rates, type, base, &counts);
  FindCast(DT_DOUBLE, type)(counts.raw_data(), output->raw_data(), shape.num_elements());
  return absl::OkStatus();
}

// RandomPoisson and RandomPoissonV2: the output's shape is the shape input, then the rates'.
class RandomPoissonKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return generator_.Init(ctx); }

  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(TensorShape shape, ReadShape(ctx.input(0)));
    const Tensor& rates = ctx.input(1);
    RETURN_IF_ERROR(shape.Append(rates.shape()));
    Philox base;
    if (shape.num_elements() > 0) {
      base = generator_.Reserve(static_cast<uint64_t>(shape.num_elements()) * kGroupsPerSample);
    }
    return DrawCounts(ctx, shape, rates, base);
  }

 private:
  GuardedPhilox generator_;
};

// Inputs: shape, which ends with the rates'; seed; rates.
class StatelessPoissonKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const TensorShape shape, ReadShape(ctx.input(0)));
    ASSIGN_OR_RETURN(const Philox base, PhiloxFromSeed(ctx.input(1)));
    const Tensor& rates = ctx.input(2);
    if (!EndsWith(shape, rates.shape())) {
      return errors::InvalidArgument("Shape passed in must end with broadcasted shape.");
    }
    if (shape.num_elements() > 0 && rates.NumElements() == 0) {
      return errors::InvalidArgument("Input lam should have non-zero element count, got: 0");
    }
    return DrawCounts(ctx, shape, rates, base);
  }
};

}  // namespace

absl::Status RegisterRandomPoissonKernels(KernelRegistry& kernels) {
  const DataTypeVector floats = {DT_FLOAT, DT_DOUBLE, DT_HALF};
  const DataTypeVector rates = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT32, DT_INT64};
  RETURN_IF_ERROR(
      kernels.Register<RandomPoissonKernel>(Kernel("RandomPoisson").Cpu().Types("dtype", floats).HostMemory("shape")));
  RETURN_IF_ERROR(kernels.Register<RandomPoissonKernel>(
      Kernel("RandomPoissonV2").Cpu().Types("R", rates).Types("dtype", rates).HostMemory("shape")));
  return kernels.Register<StatelessPoissonKernel>(Kernel("StatelessRandomPoisson")
                                                      .Cpu()
                                                      .Types("Rtype", rates)
                                                      .Types("dtype", rates)
                                                      .HostMemory("shape")
                                                      .HostMemory("seed"));
}

}  // namespace weir
