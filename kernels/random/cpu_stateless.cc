// Random numbers that depend on nothing but the seed, or key and counter, that the op is given.
#include "core/tensor/index_tensor.h"
#include "kernels/random/cpu_multinomial.h"
#include "kernels/random/family.h"
#include "kernels/random/random_fill.h"
#include "kernels/random/stateless_random.h"

namespace weir {
namespace {

constexpr int kPhilox = 1;  // the one algorithm on CPU

// Inputs: shape, then seed, or key, counter and algorithm; then the bounds of kUniformInt.
template <Distribution kDistribution, bool kKeyAndCounter>
class StatelessKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const TensorShape shape, ReadShape(ctx.input(0)));
    ASSIGN_OR_RETURN(const Philox stream, kKeyAndCounter
                                              ? PhiloxFromKeyAndCounter(ctx.input(1), ctx.input(2), ctx.input(3))
                                              : PhiloxFromSeed(ctx.input(1)));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    if (output->NumElements() == 0) return absl::OkStatus();
    int64_t low = 0, high = 0;
    if (kDistribution == Distribution::kUniformInt) {
      constexpr int kBounds = kKeyAndCounter ? 4 : 2;
      RETURN_IF_ERROR(ReadBounds(ctx.input(kBounds), ctx.input(kBounds + 1), &low, &high));
    }
    return FillRandom(ctx, kDistribution, stream, low, high, output);
  }
};

// StatelessRandomGetKeyCounter, with the algorithm as a third output where the op has one.
class KeyCounterKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Philox stream, PhiloxFromSeed(ctx.input(0)));
    ASSIGN_OR_RETURN(Tensor * key, ctx.allocate_output(0, TensorShape({1})));
    ASSIGN_OR_RETURN(Tensor * counter, ctx.allocate_output(1, TensorShape({2})));
    const auto join = [](uint32_t low, uint32_t high) { return static_cast<uint64_t>(high) << 32 | low; };
    key->data<uint64_t>()[0] = join(stream.key()[0], stream.key()[1]);
    counter->data<uint64_t>()[0] = join(stream.counter()[0], stream.counter()[1]);
    counter->data<uint64_t>()[1] = join(stream.counter()[2], stream.counter()[3]);
    if (ctx.num_outputs() > 2) ctx.set_output(2, Tensor::Scalar<int32_t>(kPhilox));
    return absl::OkStatus();
  }
};

class GetAlgorithmKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ctx.set_output(0, Tensor::Scalar<int32_t>(kPhilox));
    return absl::OkStatus();
  }
};

class StatelessMultinomialKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Philox stream, PhiloxFromSeed(ctx.input(2)));
    ASSIGN_OR_RETURN(const int64_t samples, CheckMultinomial(ctx.input(0), ctx.input(1)));
    return ComputeMultinomial(ctx, ctx.input(0), samples, stream);
  }
};

template <Distribution kDistribution>
absl::Status RegisterBoth(KernelRegistry& kernels, const std::string& op, absl::Span<const DataType> types) {
  Kernel seeded(op), keyed(op + "V2");
  seeded.Cpu().Types("dtype", types).HostMemory("shape").HostMemory("seed");
  keyed.Cpu().Types("dtype", types).HostMemory("shape").HostMemory("key").HostMemory("counter").HostMemory("alg");
  if (kDistribution == Distribution::kUniformInt) {
    seeded.HostMemory("minval").HostMemory("maxval");
    keyed.HostMemory("minval").HostMemory("maxval");
  }
  RETURN_IF_ERROR((kernels.Register<StatelessKernel<kDistribution, false>>(seeded)));
  return kernels.Register<StatelessKernel<kDistribution, true>>(keyed);
}

}  // namespace

absl::Status RegisterStatelessRandomKernels(KernelRegistry& kernels) {
  const DataTypeVector floats = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16};
  RETURN_IF_ERROR(RegisterBoth<Distribution::kUniform>(kernels, "StatelessRandomUniform", floats));
  RETURN_IF_ERROR(RegisterBoth<Distribution::kNormal>(kernels, "StatelessRandomNormal", floats));
  RETURN_IF_ERROR(RegisterBoth<Distribution::kTruncatedNormal>(kernels, "StatelessTruncatedNormal", floats));
  RETURN_IF_ERROR(RegisterBoth<Distribution::kUniformInt>(kernels, "StatelessRandomUniformInt", {DT_INT32, DT_INT64}));
  RETURN_IF_ERROR(RegisterBoth<Distribution::kFullInt>(kernels, "StatelessRandomUniformFullInt",
                                                       {DT_INT32, DT_INT64, DT_UINT32, DT_UINT64}));
  RETURN_IF_ERROR(kernels.Register<KeyCounterKernel>(Kernel("StatelessRandomGetKeyCounter").Cpu().HostMemory("seed")));
  RETURN_IF_ERROR(
      kernels.Register<KeyCounterKernel>(Kernel("StatelessRandomGetKeyCounterAlg").Cpu().HostMemory("seed")));
  RETURN_IF_ERROR(kernels.Register<GetAlgorithmKernel>(Kernel("StatelessRandomGetAlg").Cpu()));
  return kernels.Register<StatelessMultinomialKernel>(
      Kernel("StatelessMultinomial").Cpu().Types("T", floats).HostMemory("num_samples").HostMemory("seed"));
}

}  // namespace weir
