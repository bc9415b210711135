// Random numbers from a generator that each stateful op owns.
#include "core/tensor/index_tensor.h"
#include "kernels/random/cpu_multinomial.h"
#include "kernels/random/family.h"
#include "kernels/random/random_fill.h"

namespace weir {
namespace {

template <Distribution kDistribution>
class RandomKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return generator_.Init(ctx); }

  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const TensorShape shape, ReadShape(ctx.input(0)));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    int64_t low = 0, high = 0;
    if (kDistribution == Distribution::kUniformInt) {
      RETURN_IF_ERROR(ReadBounds(ctx.input(1), ctx.input(2), &low, &high));
    }
    const Philox stream = generator_.Reserve(static_cast<uint64_t>(output->NumElements()) * kGroupsPerOutput);
    return FillRandom(ctx, kDistribution, stream, low, high, output);
  }

 private:
  GuardedPhilox generator_;
};

class MultinomialKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return generator_.Init(ctx); }

  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const int64_t samples, CheckMultinomial(ctx.input(0), ctx.input(1)));
    const uint64_t groups = MultinomialGroups(ctx.input(0).dim_size(0), samples);
    return ComputeMultinomial(ctx, ctx.input(0), samples, generator_.Reserve(groups));
  }

 private:
  GuardedPhilox generator_;
};

}  // namespace

absl::Status RegisterRandomKernels(KernelRegistry& kernels) {
  const DataTypeVector floats = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16};
  RETURN_IF_ERROR(kernels.Register<RandomKernel<Distribution::kUniform>>(
      Kernel("RandomUniform").Cpu().Types("dtype", floats).HostMemory("shape")));
  RETURN_IF_ERROR(kernels.Register<RandomKernel<Distribution::kNormal>>(
      Kernel("RandomStandardNormal").Cpu().Types("dtype", floats).HostMemory("shape")));
  RETURN_IF_ERROR(kernels.Register<RandomKernel<Distribution::kTruncatedNormal>>(
      Kernel("TruncatedNormal").Cpu().Types("dtype", floats).HostMemory("shape")));
  RETURN_IF_ERROR(kernels.Register<RandomKernel<Distribution::kUniformInt>>(
      Kernel("RandomUniformInt").Cpu().HostMemory("shape").HostMemory("minval").HostMemory("maxval")));
  RETURN_IF_ERROR(
      kernels.Register<MultinomialKernel>(Kernel("Multinomial").Cpu().Types("T", floats).HostMemory("num_samples")));
  return absl::OkStatus();
}

}  // namespace weir
