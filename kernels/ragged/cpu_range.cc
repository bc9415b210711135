#include <cmath>
#include <limits>

#include "core/tensor/numeric_types.h"
#include "kernels/ragged/family.h"
#include "kernels/ragged/row_splits.h"

namespace weir {
namespace {

// starts, limits, deltas: each a vector, or a scalar that holds for every row.
template <typename T>
class RaggedRangeKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    static constexpr const char* kNames[] = {"starts", "limits", "deltas"};
    int64_t rows = 1;
    bool found = false;
    for (int i = 0; i < 3; ++i) {
      const Tensor& in = ctx.input(i);
      if (in.dims() > 1) return errors::InvalidArgument(kNames[i], " must be a scalar or vector");
      if (in.dims() == 0) continue;
      if (found && in.NumElements() != rows) {
        return errors::InvalidArgument("starts, limits, and deltas must have the same shape");
      }
      rows = in.NumElements();
      found = true;
    }
    const auto element = [&ctx](int i, int64_t row) {
      return ctx.input(i).data<T>()[ctx.input(i).dims() == 0 ? 0 : row];
    };
    const int64_t most =
        ctx.expected_output_dtype(0) == DT_INT32 ? int64_t{INT32_MAX} : std::numeric_limits<int64_t>::max();
    DimVector splits(rows + 1, 0);
    for (int64_t row = 0; row < rows; ++row) {
      const T delta = element(2, row);
      if (delta == T(0)) return errors::InvalidArgument("Requires delta != 0");
      ASSIGN_OR_RETURN(const int64_t size, RangeSize(element(0, row), element(1, row), delta));
      if (size > most - splits[row]) {
        return errors::InvalidArgument(
            "The total range size overflowed. Consider using int64 instead of int32 for row_splits_dtype.");
      }
      splits[row + 1] = splits[row] + size;
    }
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build({splits.back()}));
    ASSIGN_OR_RETURN(Tensor * values, ctx.allocate_output(1, shape));
    T* out = values->data<T>();
    for (int64_t row = 0; row < rows; ++row) {
      T value = element(0, row);
      for (int64_t i = splits[row]; i < splits[row + 1]; ++i) {
        *out++ = value;
        value = Add(value, element(2, row));
      }
    }
    return SetSplitsOutput(ctx, 0, splits);
  }

 private:
  static T Add(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    } else {
      return static_cast<T>(a + b);
    }
  }

  static absl::StatusOr<int64_t> RangeSize(T start, T limit, T delta) {
    if ((delta > T(0) && start >= limit) || (delta < T(0) && start <= limit)) return 0;
    const auto too_many = [] {
      return errors::InvalidArgument("Requires ((limit - start) / delta) <= ", std::numeric_limits<int64_t>::max());
    };
    if constexpr (std::is_integral_v<T>) {
      const uint64_t step = delta > 0 ? static_cast<uint64_t>(delta) : -static_cast<uint64_t>(delta);
      const uint64_t distance = delta > 0 ? static_cast<uint64_t>(limit) - static_cast<uint64_t>(start)
                                          : static_cast<uint64_t>(start) - static_cast<uint64_t>(limit);
      const uint64_t size = distance / step + (distance % step != 0 ? 1 : 0);
      if (size > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return too_many();
      return static_cast<int64_t>(size);
    } else {
      const double size = std::ceil(std::abs((static_cast<double>(static_cast<AccumulatorT<T>>(limit)) -
                                              static_cast<double>(static_cast<AccumulatorT<T>>(start))) /
                                             static_cast<double>(static_cast<AccumulatorT<T>>(delta))));
      if (!(size < 9.2e18)) return too_many();
      return static_cast<int64_t>(size);
    }
  }
};

}  // namespace

absl::Status RegisterRaggedRangeKernels(KernelRegistry& kernels) {
#define WEIR_REGISTER(T) \
  RETURN_IF_ERROR(kernels.Register<RaggedRangeKernel<T>>(Kernel("RaggedRange").Cpu().Type<T>("T")));
  WEIR_REGISTER(float)
  WEIR_REGISTER(double)
  WEIR_REGISTER(bfloat16)
  WEIR_REGISTER(int32_t)
  WEIR_REGISTER(int64_t)
#undef WEIR_REGISTER
  return absl::OkStatus();
}

}  // namespace weir
