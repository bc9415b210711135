// Gamma-distributed numbers (Marsaglia and Tsang, 2000).
#include "core/tensor/index_tensor.h"
#include "kernels/coordination/shape_suffix.h"
#include "kernels/device/parallel.h"
#include "kernels/device/wide.h"
#include "kernels/random/family.h"
#include "kernels/random/random_fill.h"
#include "kernels/random/random_samples.h"
#include "kernels/random/stateless_random.h"

namespace weir {
namespace {

// One number for shape parameter `alpha`: a cube of a shifted normal number, accepted by a uniform one. Below 1 the
// number for alpha + 1 is scaled by u^(1/alpha).
double DrawGamma(double alpha, Philox stream) {
  const bool below_one = alpha < 1;
  const double d = alpha + (below_one ? 2.0 / 3 : -1.0 / 3);
  const double c = 1.0 / 3 / std::sqrt(d);
  Normals<double> normals;
  Uniforms<double> uniforms;
  // Not a number never passes the tests below: it is returned as it is.
  if (!(alpha >= 0)) return alpha;
  for (;;) {
    const double x = normals.Next(stream);
    double v = 1 + c * x;
    if (v <= 0) continue;
    v = v * v * v;
    const double u = uniforms.Next(stream);
    if (u < 1 - 0.0331 * (x * x) * (x * x) || std::log(u) < 0.5 * x * x + d * (1 - v + std::log(v))) {
      double result = d * v;
      if (below_one) result *= std::pow(uniforms.Next(stream), 1 / alpha);
      return result;
    }
    if (!(v < std::numeric_limits<double>::infinity())) return v;
  }
}

// An exponential number needs no rejection.
double DrawAny(double alpha, Philox stream) {
  if (alpha != 1) return DrawGamma(alpha, stream);
  Uniforms<double> uniforms;
  return -std::log1p(-uniforms.Next(stream));
}

// Output 0, of `shape`: samples for each alpha, number i belonging to alpha i / samples. Always computed in double.
absl::Status Draw(OpKernelContext& ctx, const TensorShape& shape, const Tensor& given, const Philox& base) {
  ASSIGN_OR_RETURN(Tensor output, ctx.allocate_temp(DT_DOUBLE, shape));
  if (output.NumElements() > 0) {
    ASSIGN_OR_RETURN(const Tensor alpha, ConvertTensor(ctx, given, DT_DOUBLE));
    const int64_t alphas = alpha.NumElements(), samples = output.NumElements() / alphas;
    ParallelRanges(ctx, output.NumElements(), 100'000, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        Philox stream = base;
        stream.Skip(i * kGroupsPerSample);
        const int64_t at = i / samples;
        output.data<double>()[i % samples * alphas + at] = DrawAny(alpha.data<double>()[at], stream);
      }
    });
  }
  ASSIGN_OR_RETURN(Tensor narrow, ConvertTensor(ctx, output, ctx.expected_output_dtype(0)));
  ctx.set_output(0, std::move(narrow));
  return absl::OkStatus();
}

// The output's shape is the shape input, then alpha's.
class RandomGammaKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return generator_.Init(ctx); }

  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(TensorShape shape, ReadShape(ctx.input(0)));
    const Tensor& alpha = ctx.input(1);
    RETURN_IF_ERROR(shape.Append(alpha.shape()));
    Philox base;
    if (shape.num_elements() > 0) {
      base = generator_.Reserve(static_cast<uint64_t>(shape.num_elements()) * kGroupsPerSample);
    }
    return Draw(ctx, shape, alpha, base);
  }

 private:
  GuardedPhilox generator_;
};

// Inputs: shape, which ends with alpha's; seed, or key, counter and algorithm; alpha.
template <bool kKeyAndCounter>
class StatelessGammaKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const TensorShape shape, ReadShape(ctx.input(0)));
    ASSIGN_OR_RETURN(const Philox base, kKeyAndCounter
                                            ? PhiloxFromKeyAndCounter(ctx.input(1), ctx.input(2), ctx.input(3))
                                            : PhiloxFromSeed(ctx.input(1)));
    const Tensor& given = ctx.input(ctx.num_inputs() - 1);
    if (shape.num_elements() > 0) {
      if (!EndsWith(shape, given.shape())) {
        return errors::InvalidArgument("Shape passed in must end with broadcasted shape.");
      }
      if (given.NumElements() == 0) {
        return errors::InvalidArgument("Input alpha should have non-zero element count, got: 0");
      }
    }
    return Draw(ctx, shape, given, base);
  }
};

}  // namespace

absl::Status RegisterRandomGammaKernels(KernelRegistry& kernels) {
  const DataTypeVector floats = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16};
  RETURN_IF_ERROR(kernels.Register<RandomGammaKernel>(
      Kernel("RandomGamma").Cpu().Types("T", floats).HostMemory("shape").HostMemory("alpha")));
  RETURN_IF_ERROR(kernels.Register<StatelessGammaKernel<false>>(
      Kernel("StatelessRandomGammaV2").Cpu().Types("dtype", floats).HostMemory("shape").HostMemory("seed")));
  return kernels.Register<StatelessGammaKernel<true>>(Kernel("StatelessRandomGammaV3")
                                                          .Cpu()
                                                          .Types("dtype", floats)
                                                          .HostMemory("shape")
                                                          .HostMemory("key")
                                                          .HostMemory("counter")
                                                          .HostMemory("alg"));
}

}  // namespace weir
