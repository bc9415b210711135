// Sum and Mean.
#include <complex>
#include <limits>

#include "kernels/reduction/cpu_reduction.h"
#include "kernels/reduction/family.h"

namespace weir {
namespace {

template <typename T>
struct SumReducer {
  using In = T;
  using Value = typename ReductionValue<T>::type;
  using Sum = Value;
  static Sum Start() { return Sum(0); }
  static Sum Map(Value x) { return x; }
  static Sum Merge(Sum a, Sum b) { return static_cast<Sum>(a + b); }
  static Value Finish(Sum sum, int64_t) { return sum; }
};

template <typename T>
struct MeanReducer : SumReducer<T> {
  using Value = typename ReductionValue<T>::type;
  static Value Finish(Value sum, int64_t n) { return sum / static_cast<Value>(n); }
};

// Of no elements it is zero, where real numbers give NaN.
template <typename T>
struct ComplexMeanReducer : SumReducer<T> {
  static T Finish(T sum, int64_t n) { return n == 0 ? T(0) : sum / static_cast<T>(n); }
};

// The mean of integers is that of their 64-bit sum, rounded towards zero; of none, zero.
template <typename T>
struct IntegerMeanReducer {
  using In = T;
  using Value = T;
  using Sum = uint64_t;
  static Sum Start() { return 0; }
  static Sum Map(T x) { return static_cast<Sum>(x); }
  static Sum Merge(Sum a, Sum b) { return a + b; }
  static T Finish(Sum sum, int64_t n) {
    if (n == 0) return 0;
    if constexpr (std::is_signed_v<T>) return static_cast<T>(static_cast<int64_t>(sum) / n);
    return static_cast<T>(sum / static_cast<uint64_t>(n));
  }
};

#define WEIR_SUM(T) {"Sum", DataTypeOf<T>(), &MakeReduction<&FoldOf<SumReducer<T>>, true>},
#define WEIR_INTEGER_SUM(T) \
  {"Sum", DataTypeOf<T>(), &MakeReduction<&FoldOf<SumReducer<std::make_unsigned_t<T>>>, true>},
#define WEIR_MEAN(T) {"Mean", DataTypeOf<T>(), &MakeReduction<&FoldOf<MeanReducer<T>>, true>},
#define WEIR_COMPLEX_MEAN(T) {"Mean", DataTypeOf<T>(), &MakeReduction<&FoldOf<ComplexMeanReducer<T>>, true>},
#define WEIR_INTEGER_MEAN(T) {"Mean", DataTypeOf<T>(), &MakeReduction<&FoldOf<IntegerMeanReducer<T>>, true>},

}  // namespace

absl::Status RegisterSumKernels(KernelRegistry& kernels) {
  // clang-format off
  static constexpr ReductionEntry kEntries[] = {
      WEIR_FOR_FLOATS(WEIR_SUM)
      WEIR_FOR_COMPLEX(WEIR_SUM)
      WEIR_FOR_INTEGERS(WEIR_INTEGER_SUM)
      WEIR_FOR_FLOATS(WEIR_MEAN)
      WEIR_FOR_COMPLEX(WEIR_COMPLEX_MEAN)
      WEIR_FOR_INTEGERS(WEIR_INTEGER_MEAN)
  };
  // clang-format on
  return RegisterReductions(kernels, kEntries);
}

}  // namespace weir
