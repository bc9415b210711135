// Prod and EuclideanNorm.
#include <cmath>
#include <complex>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "kernels/reduction/cpu_reduction.h"
#include "kernels/reduction/family.h"

namespace weir {
namespace {

// Flushes denormals to zero on its thread while it lives. Products of many fractions become denormal, and multiplying
// denormals takes a hundred times as long.
class FlushDenormals {
 public:
#if defined(__SSE2__)
  FlushDenormals() : before_(_mm_getcsr()) {
    if ((before_ & kFlush) != kFlush) _mm_setcsr(before_ | kFlush);
  }
  ~FlushDenormals() {
    if ((before_ & kFlush) != kFlush) _mm_setcsr(before_);
  }
  FlushDenormals(const FlushDenormals&) = delete;

 private:
  static constexpr unsigned int kFlush = 0x8040;  // results to zero, and operands
  const unsigned int before_;
#endif
};

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
#define WEIR_INTEGER_PRODUCT(T) \
  {"Prod", DataTypeOf<T>(), &MakeReduction<&FoldOf<ProductReducer<std::make_unsigned_t<T>>>, true>},
#define WEIR_NORM(T) {"EuclideanNorm", DataTypeOf<T>(), &MakeReduction<&FoldOf<NormReducer<T>>, false>},

}  // namespace

absl::Status RegisterProductKernels(KernelRegistry& kernels) {
  // clang-format off
  static constexpr ReductionEntry kEntries[] = {
      WEIR_FOR_FLOATS(WEIR_PRODUCT)
      WEIR_FOR_COMPLEX(WEIR_PRODUCT)
      WEIR_FOR_INTEGERS(WEIR_INTEGER_PRODUCT)
      WEIR_FOR_NUMBERS(WEIR_NORM)
  };
  // clang-format on
  return RegisterReductions(kernels, kEntries);
}

}  // namespace weir
