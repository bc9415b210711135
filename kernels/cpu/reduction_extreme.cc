// Max, Min, All and Any.
#include <limits>

#include "kernels/cpu/reduction.h"

namespace weir {
namespace {

// NaN wins over numbers.
template <typename T>
struct MaxReducer {
  using In = T;
  using Value = typename ReductionValue<T>::type;
  using Sum = Value;
  static constexpr int kLanes = 32;  // a comparison and two choices take long to go through
  static Sum Start() {
    using Limits = std::numeric_limits<Value>;
    return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  }
  static Sum Map(Value x) { return x; }
  static Sum Merge(Sum a, Sum b) { return (a >= b) | (a != a) ? a : b; }
  static Value Finish(Sum sum, int64_t) { return sum; }
};

template <typename T>
struct MinReducer : MaxReducer<T> {
  using Value = typename ReductionValue<T>::type;
  static Value Start() {
    using Limits = std::numeric_limits<Value>;
    return Limits::has_infinity ? Limits::infinity() : Limits::max();
  }
  static Value Merge(Value a, Value b) { return (a <= b) | (a != a) ? a : b; }
};

struct AllReducer {
  using In = bool;
  using Value = bool;
  static constexpr int kLanes = 64;
  using Sum = uint8_t;  // not bool: a vector of them would share bytes between threads
  static Sum Start() { return 1; }
  static Sum Map(bool x) { return x; }
  static Sum Merge(Sum a, Sum b) { return a & b; }
  static bool Finish(Sum all, int64_t) { return all != 0; }
};
struct AnyReducer : AllReducer {
  static Sum Start() { return 0; }
  static Sum Merge(Sum a, Sum b) { return a | b; }
};

#define WEIR_MAX(T) {"Max", DataTypeOf<T>(), &MakeReduction<&FoldOf<MaxReducer<T>>, true>},
#define WEIR_MIN(T) {"Min", DataTypeOf<T>(), &MakeReduction<&FoldOf<MinReducer<T>>, true>},

}  // namespace

absl::Status RegisterExtremeKernels(KernelRegistry& kernels) {
  // clang-format off
  static constexpr ReductionEntry kEntries[] = {
      WEIR_FOR_REALS(WEIR_MAX)
      WEIR_FOR_REALS(WEIR_MIN)
      {"All", DT_INVALID, &MakeReduction<&FoldOf<AllReducer>, true>},
      {"Any", DT_INVALID, &MakeReduction<&FoldOf<AnyReducer>, true>},
  };
  // clang-format on
  return RegisterReductions(kernels, kEntries);
}

}  // namespace weir
