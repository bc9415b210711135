// Random numbers from a generator whose state is a variable: RngSkip, RngReadAndSkip, StatefulUniform and the like.
#include "core/tensor/index_tensor.h"
#include "kernels/random/family.h"
#include "kernels/random/generator_state.h"
#include "kernels/random/random_fill.h"

namespace weir {
namespace {

// Inputs: the generator, the algorithm (but for the first version of the normal op), the shape; then the bounds of
// kUniformInt.
template <Distribution kDistribution, bool kHasAlgorithm>
class StatefulKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    constexpr int kShape = kHasAlgorithm ? 2 : 1;
    if (kHasAlgorithm) RETURN_IF_ERROR(CheckGeneratorAlgorithm(ctx.input(1)));
    ASSIGN_OR_RETURN(const TensorShape shape, ReadShape(ctx.input(kShape)));
    int64_t low = 0, high = 0;
    if (kDistribution == Distribution::kUniformInt) {
      RETURN_IF_ERROR(ReadBounds(ctx.input(kShape + 1), ctx.input(kShape + 2), &low, &high));
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, shape));
    ASSIGN_OR_RETURN(const auto state,
                     AdvanceGenerator(ctx, static_cast<uint64_t>(shape.num_elements()) * kGroupsPerOutput));
    if (shape.num_elements() == 0) return absl::OkStatus();
    return FillRandom(ctx, kDistribution, PhiloxFromState(state), low, high, output);
  }
};

class RngSkipKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    RETURN_IF_ERROR(CheckGeneratorAlgorithm(ctx.input(1)));
    if (ctx.input(2).dims() != 0) {
      return errors::InvalidArgument("delta must be of shape [], not ", ctx.input(2).shape().ToString());
    }
    ASSIGN_OR_RETURN(const int64_t delta, ReadInteger(ctx.input(2), "delta"));
    return AdvanceGenerator(ctx, static_cast<uint64_t>(delta) * kGroupsPerOutput).status();
  }
};

class RngReadAndSkipKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    RETURN_IF_ERROR(CheckGeneratorAlgorithm(ctx.input(1)));
    const Tensor& delta = ctx.input(2);
    if (delta.dims() != 0 || delta.dtype() != DT_UINT64) {
      return errors::InvalidArgument("delta must be of shape [], not ", delta.shape().ToString());
    }
    ASSIGN_OR_RETURN(const auto state, AdvanceGenerator(ctx, delta.scalar<uint64_t>() * kGroupsPerOutput));
    ctx.set_output(0, Tensor::Vector<int64_t>(state));
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterStatefulRandomKernels(KernelRegistry& kernels) {
  const DataTypeVector floats = {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16};
  const DataTypeVector integers = {DT_INT32, DT_INT64}, all_integers = {DT_INT32, DT_INT64, DT_UINT32, DT_UINT64};
  const auto on = [](const char* op, const DataTypeVector& types) {
    return Kernel(op).Cpu().Types("dtype", types).HostMemory("shape");
  };
  RETURN_IF_ERROR(
      (kernels.Register<StatefulKernel<Distribution::kNormal, false>>(on("StatefulStandardNormal", floats))));
  RETURN_IF_ERROR(
      (kernels.Register<StatefulKernel<Distribution::kNormal, true>>(on("StatefulStandardNormalV2", floats))));
  RETURN_IF_ERROR(
      (kernels.Register<StatefulKernel<Distribution::kTruncatedNormal, true>>(on("StatefulTruncatedNormal", floats))));
  RETURN_IF_ERROR((kernels.Register<StatefulKernel<Distribution::kUniform, true>>(on("StatefulUniform", floats))));
  RETURN_IF_ERROR(
      (kernels.Register<StatefulKernel<Distribution::kUniformInt, true>>(on("StatefulUniformInt", integers))));
  RETURN_IF_ERROR(
      (kernels.Register<StatefulKernel<Distribution::kFullInt, true>>(on("StatefulUniformFullInt", all_integers))));
  RETURN_IF_ERROR(kernels.Register<RngSkipKernel>(Kernel("RngSkip").Cpu()));
  return kernels.Register<RngReadAndSkipKernel>(Kernel("RngReadAndSkip").Cpu());
}

}  // namespace weir
