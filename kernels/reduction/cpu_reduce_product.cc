// Prod and EuclideanNorm.
#include <cmath>
#include <complex>

#include "core/threads/flush_denormals.h"
#include "kernels/device/rounded_folds.h"
#include "kernels/reduction/cpu_reduction.h"
#include "kernels/reduction/family.h"

namespace weir {
namespace {

template <typename T>
struct ProductReducer {
  using Scope = FlushDenormals;
  using In = T;
  using Value = typename ReductionValue<T>::type;
  // Narrow integers widen, so that their products wrap instead of overflowing int.
  using Sum = std::conditional_t<std::is_integral_v<Value>, uint64_t, Value>;
  static Sum Start() { return Sum(1); }
  static Sum Map(Value x) { return static_cast<Sum>(x); }
  static Sum Merge(Sum a, Sum b) { return a * b; }
  static Value Finish(Sum product, int64_t) { return static_cast<Value>(product); }
};

// Products of 16-bit floats. Columns are folded in strands where TensorFlow's lanes lie in one row of the output.
template <typename T>
absl::Status FoldRoundedProduct(OpKernelContext& ctx, const void* in, int64_t outer, int64_t n, int64_t inner,
                                void* out) {
  constexpr int64_t kCost = 3000;  // picoseconds an element
  const T* const x = At16<T>(in, 0);
  if (inner == 1) {
    ParallelRanges(ctx, outer, n * kCost, [&](int64_t begin, int64_t end) {
      [[maybe_unused]] const FlushDenormals scope;
      for (int64_t row = begin; row < end; ++row) {
        const float product = FoldRoundedRow<T, RoundedProduct>(x, row * n, n);
        FromFloats(&product, At16<T>(out, row), 1);
      }
    });
    return absl::OkStatus();
  }
  const int64_t total = outer * inner, groups = (total + kRoundedLanes - 1) / kRoundedLanes;
  ParallelRanges(ctx, groups, n * kRoundedLanes * kCost, [&](int64_t first_group, int64_t last_group) {
    [[maybe_unused]] const FlushDenormals scope;
    const int64_t end = std::min(total, last_group * kRoundedLanes);
    for (int64_t at = first_group * kRoundedLanes, columns = 0; at < end; at += columns) {
      const int64_t column = at % inner, free = std::min({inner - column, end - at, kFloat16Block});
      const bool stranded = at % kRoundedLanes == 0 && free >= kRoundedLanes;
      columns = stranded ? free / kRoundedLanes * kRoundedLanes : 1;
      FoldRoundedColumns<T, RoundedProduct>(At16<T>(in, at / inner * n * inner + column), n, inner, columns, stranded,
                                            At16<T>(out, at));
    }
  });
  return absl::OkStatus();
}

template <typename T>
inline constexpr bool kIsComplexNumber = false;
template <typename T>
inline constexpr bool kIsComplexNumber<std::complex<T>> = true;

template <typename T>
struct NormReducer {
  using In = T;
  using Value = typename ReductionValue<T>::type;
  using Sum = std::conditional_t<std::is_integral_v<Value>, double, Value>;
  static Sum Start() { return Sum(0); }
  static Sum Map(Value x) {
    if constexpr (kIsComplexNumber<Value>) {
      return Sum(std::norm(x));
    } else {
      return static_cast<Sum>(x) * static_cast<Sum>(x);
    }
  }
  static Sum Merge(Sum a, Sum b) { return a + b; }
  static Value Finish(Sum sum, int64_t) { return static_cast<Value>(std::sqrt(sum)); }
};

#define WEIR_PRODUCT(T) {"Prod", DataTypeOf<T>(), &MakeReduction<&FoldOf<ProductReducer<T>>, true>},
#define WEIR_ROUNDED_PRODUCT(T) {"Prod", DataTypeOf<T>(), &MakeReduction<&FoldRoundedProduct<T>, true>},
#define WEIR_INTEGER_PRODUCT(T) \
  {"Prod", DataTypeOf<T>(), &MakeReduction<&FoldOf<ProductReducer<std::make_unsigned_t<T>>>, true>},
#define WEIR_NORM(T) {"EuclideanNorm", DataTypeOf<T>(), &MakeReduction<&FoldOf<NormReducer<T>>, false>},

}  // namespace

absl::Status RegisterProductKernels(KernelRegistry& kernels) {
  // clang-format off
  static constexpr ReductionEntry kEntries[] = {
      WEIR_PRODUCT(float)
      WEIR_PRODUCT(double)
      WEIR_ROUNDED_PRODUCT(half)
      WEIR_ROUNDED_PRODUCT(bfloat16)
      WEIR_FOR_COMPLEX(WEIR_PRODUCT)
      WEIR_FOR_INTEGERS(WEIR_INTEGER_PRODUCT)
      WEIR_FOR_NUMBERS(WEIR_NORM)
  };
  // clang-format on
  return RegisterReductions(kernels, kEntries);
}

}  // namespace weir
