// Converts 32-bit sums of products to few bits, over a range that is given or computed.
#include <algorithm>

#include "kernels/device/parallel.h"
#include "kernels/quantized/family.h"
#include "kernels/quantized/quantization.h"

namespace weir {
namespace {

// The range of the values that occur; it holds zero.
QuantizedRange UsedRange(const Tensor& input, QuantizedRange range) {
  const int32_t* const x = static_cast<const int32_t*>(input.raw_data());
  int32_t least = std::numeric_limits<int32_t>::max(), most = std::numeric_limits<int32_t>::lowest();
  for (int64_t i = 0; i < input.NumElements(); ++i) {
    least = std::min(least, x[i]);
    most = std::max(most, x[i]);
  }
  return {std::min(0.0f, FromQuantized<int32_t>(least, range)), FromQuantized<int32_t>(most, range)};
}

class RequantizationRangeKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    if (ctx.input(0).NumElements() == 0) return errors::InvalidArgument("Input tensor must not be empty.");
    ASSIGN_OR_RETURN(const QuantizedRange range, RangeAt(ctx, 1, "input_min", "input_max"));
    SetRange(ctx, 0, UsedRange(ctx.input(0), range));
    return absl::OkStatus();
  }
};

// To unsigned bytes, as TensorFlow does it, by fixed point: zero keeps its place between two steps, where ToQuantized
// moves the range until zero lies on one.
class FixedPoint {
 public:
  FixedPoint(QuantizedRange from, QuantizedRange to) {
    const float width = to.high - to.low;
    if (width == 0) return;
    scale_ = Integer(255.0 * kOne * (from.high - from.low) / width);
    middle_ = Integer((from.low + from.high) / 2.0 * (255.0 / width) * kOne);
    zero_ = Integer(to.low * 255.0 / width * kOne);
  }
  uint8_t operator()(int32_t x) const {
    const int64_t value = static_cast<int64_t>((__int128{x} * scale_) >> 32) + middle_;
    return static_cast<uint8_t>(std::clamp<int64_t>((value - zero_ + kOne / 2) >> 16, 0, 255));
  }

 private:
  static constexpr int64_t kOne = 1 << 16;
  // Ranges may be of any size, and no numbers at all: sums of what this gives do not overflow.
  static int64_t Integer(double x) {
    constexpr double kFar = 1e18;
    return std::isnan(x) ? 0 : static_cast<int64_t>(std::clamp(x, -kFar, kFar));
  }
  int64_t scale_ = 0, middle_ = 0, zero_ = 0;
};

// Requantize has the new range as inputs 3 and 4; QuantizeDownAndShrinkRange finds it.
class RequantizeKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(const QuantizedRange range, RangeAt(ctx, 1, "input_min", "input_max"));
    QuantizedRange wanted;
    if (ctx.num_inputs() == 3) {
      wanted = input.NumElements() == 0 ? QuantizedRange{0, 0} : UsedRange(input, range);
    } else {
      ASSIGN_OR_RETURN(wanted, RangeAt(ctx, 3, "requested_output_min", "requested_output_max"));
      if (!(wanted.low <= 0)) {
        return errors::InvalidArgument("requested_output_min must be <= 0, but got ", wanted.low);
      }
      if (!(wanted.high >= wanted.low)) {
        return errors::InvalidArgument("requested_output_max must be >= requested_output_min, but got ", wanted.high,
                                       " and ", wanted.low);
      }
    }
    ASSIGN_OR_RETURN(Tensor * output, ctx.allocate_output(0, input.shape()));
    const int32_t* const x = static_cast<const int32_t*>(input.raw_data());
    RETURN_IF_ERROR(VisitQuantized(output->dtype(), [&](auto element) {
      using T = decltype(element);
      T* const y = static_cast<T*>(output->raw_data());
      const FixedPoint fixed(range, wanted);
      ParallelRanges(ctx, input.NumElements(), 10'000, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          if constexpr (std::is_same_v<T, uint8_t>) {
            y[i] = fixed(x[i]);
          } else {
            y[i] = ToQuantized<T>(FromQuantized<int32_t>(x[i], range), wanted);
          }
        }
      });
      return absl::OkStatus();
    }));
    SetRange(ctx, 1, wanted);
    return absl::OkStatus();
  }
};

}  // namespace

absl::Status RegisterRequantizeKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(
      kernels.Register<RequantizationRangeKernel>(Kernel("RequantizationRange").Cpu().Types("Tinput", {DT_QINT32})));
  RETURN_IF_ERROR(kernels.Register<RequantizeKernel>(
      Kernel("Requantize").Cpu().Types("Tinput", {DT_QINT32}).Types("out_type", {DT_QUINT8, DT_QINT8})));
  return kernels.Register<RequantizeKernel>(
      Kernel("QuantizeDownAndShrinkRange").Cpu().Types("Tinput", {DT_QINT32}).Types("out_type", {DT_QUINT8}));
}

}  // namespace weir
