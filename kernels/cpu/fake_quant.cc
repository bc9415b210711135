// Fake quantisation: rounding float values to the levels that a few bits would hold.
#include <cmath>
#include <vector>

#include "kernels/cpu/numeric_families.h"
#include "kernels/cpu/parallel.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {
namespace {

// A range moved so that zero is one of its levels.
struct Levels {
  // `least` and `most` of a range that holds zero, 2^bits levels (one fewer where narrow). Levels are counted by a
  // division or by multiplying with its inverse: they differ in the last bit, and so in the way that halves go.
  Levels(float least, float most, int64_t bits, bool narrow, bool by_division) : divides(by_division) {
    const float first = narrow ? 1 : 0, last = static_cast<float>((int64_t{1} << bits) - 1);
    step = (most - least) / (last - first);
    per_unit = (last - first) / (most - least);
    const float zero = first - least / step;
    const float nudged = zero < first ? first : zero > last ? last : std::round(zero);
    low = (first - nudged) * step;
    high = (last - nudged) * step;
    levels_below_zero = std::floor(Count(-low) + 0.5f);
  }
  // Levels are counted from zero, which is then exactly one of them; halves go the way that they go in TensorFlow.
  float operator()(float x) const {
    const float inside = std::max(std::min(x, high), low);
    return std::floor(Count(inside - low) - levels_below_zero + 0.5f) * step;
  }
  float Count(float length) const { return divides ? length / step : length * per_unit; }
  bool Inside(float x) const { return x >= low && x <= high; }
  float low, high, step, per_unit, levels_below_zero;
  bool divides;
};

struct QuantAttrs {
  absl::Status Read(OpKernelConstruction& ctx) {
    RETURN_IF_ERROR(ctx.GetAttr("num_bits", &bits));
    if (bits < 2 || bits > 16) return errors::InvalidArgument("num_bits must be between 2 and 16, inclusive");
    return ctx.GetAttr("narrow_range", &narrow);
  }
  int64_t bits = 8;
  bool narrow = false;
};

// The range is given by attributes. The gradient passes within it.
template <bool kGradient>
class FakeQuantArgsKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    QuantAttrs attrs;
    RETURN_IF_ERROR(attrs.Read(ctx));
    float low, high;
    RETURN_IF_ERROR(ctx.GetAttr("min", &low));
    RETURN_IF_ERROR(ctx.GetAttr("max", &high));
    if (!(low < high)) return errors::InvalidArgument("min has to be smaller than max, was: ", low, " >= ", high);
    levels_ = Levels(low, high, attrs.bits, attrs.narrow, false);
    return absl::OkStatus();
  }
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(kGradient ? 1 : 0);
    if (kGradient && ctx.input(0).shape() != input.shape()) {
      return errors::InvalidArgument("Inputs to operation ", ctx.node_def().name(), " of type ", ctx.node_def().op(),
                                     " must have the same size and shape.  Input 0: ", ctx.input(0).shape().ToString(),
                                     " != input 1: ", input.shape().ToString());
    }
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
    if (kGradient && ctx.input(0).shape() != input.shape()) {
      return errors::InvalidArgument("gradient and input must be the same size");
    }
    if (kPerChannel && input.dims() < 1) return errors::InvalidArgument("input must have at least one dimension");
    const int64_t depth = kPerChannel ? input.dim_size(input.dims() - 1) : 1;
    for (const auto& [name, range] : {std::pair{"min", &low}, std::pair{"max", &high}}) {
      constexpr int kRank = kPerChannel ? 1 : 0;
      if (range->dims() != kRank) {
        return errors::InvalidArgument("`", name, "` must be rank ", kRank, " but is rank ", range->dims());
      }
      if (kPerChannel && range->dim_size(0) != depth) {
        return errors::InvalidArgument(name, " has incorrect size, expected ", depth, " was ", range->dim_size(0));
      }
    }
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
