// Fake quantisation: rounding float values to the levels that a few bits would hold.
#include <cmath>
#include <vector>

#include "kernels/device/parallel.h"
#include "kernels/elementwise/args_pairwise.h"
#include "kernels/quantized/args_fake_quant.h"
#include "kernels/quantized/fake_quant_levels.h"
#include "kernels/quantized/family.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {
namespace {

using Levels = FakeQuantLevels;

// The range is given by attributes. The gradient passes within it.
template <bool kGradient>
class FakeQuantArgsKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    QuantAttrs attrs;
    RETURN_IF_ERROR(attrs.Read(ctx));
    levels_ = Levels(attrs.low, attrs.high, attrs.bits, attrs.narrow, false);
    return absl::OkStatus();
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(kGradient ? 1 : 0);
    if (kGradient) RETURN_IF_ERROR(CheckSameShape(ctx.node_def().name(), ctx.node_def().op(), ctx.input(0), input));
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, input.shape()));
    for (int64_t i = 0; i < input.NumElements(); ++i) {
      const float x = input.data<float>()[i];
      output->data<float>()[i] = kGradient ? (levels_.Inside(x) ? ctx.input(0).data<float>()[i] : 0.0f) : levels_(x);
    }
    return absl::OkStatus();
  }

 private:
  Levels levels_{-6, 6, 8, false, false};
};

// The range is input; with kPerChannel, one for each element of the last dimension. Inputs of the gradient: gradients,
// inputs, min, max; what lies below or above the range moves its ends. Ends that are not numbers, or stand in the wrong
// order, are computed with as they are.
template <bool kPerChannel, bool kGradient>
class FakeQuantVarsKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override { return attrs_.Read(ctx); }

  absl::Status Compute(OpKernelContext& ctx) override {
    constexpr int kFirst = kGradient ? 1 : 0;
    const Tensor& input = ctx.input(kFirst);
    const Tensor& low = ctx.input(kFirst + 1);
    const Tensor& high = ctx.input(kFirst + 2);
    ASSIGN_OR_RETURN(const int64_t depth, CheckQuantRange(ctx, kFirst, kPerChannel));
    std::vector<Levels> levels;
    std::vector<bool> empty(depth);  // a range of zeros: everything is zero
    for (int64_t c = 0; c < depth; ++c) {
      const float least = low.data<float>()[c], most = high.data<float>()[c];
      empty[c] = least == 0 && most == 0;
      levels.emplace_back(least, most, attrs_.bits, attrs_.narrow, !kPerChannel);
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, input.shape()));
    const float* const x = input.data<float>();
    float* const out = output->data<float>();
    if constexpr (!kGradient) {
      for (int64_t i = 0; i < input.NumElements(); ++i) out[i] = empty[i % depth] ? 0.0f : levels[i % depth](x[i]);
    } else {
      const float* const g = ctx.input(0).data<float>();
      std::vector<double> below(depth), above(depth);
      for (int64_t i = 0; i < input.NumElements(); ++i) {
        const int64_t c = i % depth;
        const bool inside = empty[c] || levels[c].Inside(x[i]);
        out[i] = inside ? g[i] : 0.0f;
        if (inside) continue;
        if (x[i] < levels[c].low) below[c] += g[i];
        if (x[i] > levels[c].high) above[c] += g[i];
      }
      for (int i : {1, 2}) {
        ASSIGN_OR_RETURN(Tensor * sums, ctx.allocate_output(i, low.shape()));
        for (int64_t c = 0; c < depth; ++c) sums->data<float>()[c] = static_cast<float>((i == 1 ? below : above)[c]);
      }
    }
    return absl::OkStatus();
  }

 private:
  QuantAttrs attrs_;
};

}  // namespace

absl::Status RegisterFakeQuantKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<FakeQuantArgsKernel<false>>(Kernel("FakeQuantWithMinMaxArgs").Cpu()));
  RETURN_IF_ERROR(kernels.Register<FakeQuantArgsKernel<true>>(Kernel("FakeQuantWithMinMaxArgsGradient").Cpu()));
  RETURN_IF_ERROR((kernels.Register<FakeQuantVarsKernel<false, false>>(Kernel("FakeQuantWithMinMaxVars").Cpu())));
  RETURN_IF_ERROR(
      (kernels.Register<FakeQuantVarsKernel<false, true>>(Kernel("FakeQuantWithMinMaxVarsGradient").Cpu())));
  RETURN_IF_ERROR(
      (kernels.Register<FakeQuantVarsKernel<true, false>>(Kernel("FakeQuantWithMinMaxVarsPerChannel").Cpu())));
  return kernels.Register<FakeQuantVarsKernel<true, true>>(Kernel("FakeQuantWithMinMaxVarsPerChannelGradient").Cpu());
}

}  // namespace weir
