// Max, Min, All and Any.
#include <algorithm>
#include <cstring>
#include <limits>

#include "kernels/reduction/cpu_reduction.h"
#include "kernels/reduction/family.h"

namespace weir {
namespace {

// The extreme of a row, a NaN if there is one. `better` is a single instruction, which gives its second argument when
// one of them is a NaN: whether x has any is noted aside.
template <typename T, typename Better>
T FoldExtreme(const T* x, int64_t n, T start, Better better) {
  constexpr int kLanes = 32;
  using Mask = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;  // as wide as T in a vector
  T lanes[kLanes];
  Mask has_nan[kLanes] = {};
  std::fill_n(lanes, kLanes, start);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      lanes[lane] = better(x[i + lane], lanes[lane]);
      has_nan[lane] |= x[i + lane] != x[i + lane];
    }
  }
  for (int lane = 0; i < n; ++i, ++lane) {
    lanes[lane] = better(x[i], lanes[lane]);
    has_nan[lane] |= x[i] != x[i];
  }
  T best = start;
  for (const T value : lanes) best = better(value, best);
  if (std::find(has_nan, has_nan + kLanes, Mask(1)) != has_nan + kLanes) return std::numeric_limits<T>::quiet_NaN();
  return best;
}

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
  static Sum FoldMany(const Value* x, int64_t n) {
    return FoldExtreme(x, n, Start(), [](Value a, Value b) { return a > b ? a : b; });
  }
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
  static Value FoldMany(const Value* x, int64_t n) {
    return FoldExtreme(x, n, Start(), [](Value a, Value b) { return a < b ? a : b; });
  }
};

struct AllReducer {
  using In = bool;
  using Value = bool;
  static constexpr int kLanes = 64;
  using Sum = uint8_t;  // not bool: a vector of them would share bytes between threads
  static Sum Start() { return 1; }
  static Sum Map(bool x) { return x; }
  static Sum Merge(Sum a, Sum b) { return a & b; }
  static Sum FoldMany(const bool* x, int64_t n) { return std::memchr(x, 0, n) == nullptr; }
  static bool Finish(Sum all, int64_t) { return all != 0; }
};
struct AnyReducer : AllReducer {
  static Sum Start() { return 0; }
  static Sum Merge(Sum a, Sum b) { return a | b; }
  static Sum FoldMany(const bool* x, int64_t n) { return n > 0 && (x[0] || std::memcmp(x, x + 1, n - 1) != 0); }
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
