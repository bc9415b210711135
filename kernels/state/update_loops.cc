#include "kernels/state/update_loops.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>

#include "core/tensor/numeric_types.h"
#include "core/tensor/resource_handle.h"
#include "core/tensor/variant.h"

namespace weir {
namespace {

// The type to compute in: unsigned for integers, so that they wrap.
template <typename T>
auto Widen(T x) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<std::make_unsigned_t<decltype(x + x)>>(x);
  } else {
    return static_cast<AccumulatorT<T>>(x);
  }
}

template <typename T>
T Divide(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return static_cast<T>(0 - Widen(a));  // the smallest integer has no negative
    }
    return b == 0 ? T{0} : static_cast<T>(a / b);
  } else {
    return static_cast<T>(Widen(a) / Widen(b));
  }
}

template <typename T, UpdateOp kOp>
T Apply(T a, T b) {
  if constexpr (kOp == UpdateOp::kAdd) return static_cast<T>(Widen(a) + Widen(b));
  if constexpr (kOp == UpdateOp::kSub) return static_cast<T>(Widen(a) - Widen(b));
  if constexpr (kOp == UpdateOp::kMul) return static_cast<T>(Widen(a) * Widen(b));
  if constexpr (kOp == UpdateOp::kDiv) return Divide(a, b);
  if constexpr (kOp == UpdateOp::kMin) return b < a ? b : a;
  if constexpr (kOp == UpdateOp::kMax) return a < b ? b : a;
}

template <typename T, UpdateOp kOp>
void Loop(void* target, const void* update, int64_t step, int64_t n) {
  T* const __restrict x = static_cast<T*>(target);
  const T* const __restrict y = static_cast<const T*>(update);
  if (step == 0) {
    const T value = *y;
    for (int64_t i = 0; i < n; ++i) x[i] = Apply<T, kOp>(x[i], value);
  } else {
    for (int64_t i = 0; i < n; ++i) x[i] = Apply<T, kOp>(x[i], y[i]);
  }
}

template <typename T>
void AssignLoop(void* target, const void* update, int64_t step, int64_t n) {
  T* const x = static_cast<T*>(target);
  const T* const y = static_cast<const T*>(update);
  if (step == 0) {
    std::fill_n(x, n, *y);
  } else {
    std::copy_n(y, n, x);
  }
}

// For plain types an assignment is one of bytes.
UpdateLoop FindAssignLoop(DataType type) {
  switch (type) {
    case DT_STRING:
      return &AssignLoop<tstring>;
    case DT_RESOURCE:
      return &AssignLoop<ResourceHandle>;
    case DT_VARIANT:
      return &AssignLoop<Variant>;
    default:
      break;
  }
  switch (DataTypeSize(type)) {
    case 1:
      return &AssignLoop<uint8_t>;
    case 2:
      return &AssignLoop<uint16_t>;
    case 4:
      return &AssignLoop<uint32_t>;
    case 8:
      return &AssignLoop<uint64_t>;
    case 16:
      return &AssignLoop<complex128>;
    default:
      return nullptr;
  }
}

template <UpdateOp kOp>
UpdateLoop FindArithmeticLoop(DataType type) {
  switch (type) {
#define WEIR_CASE(T)    \
  case DataTypeOf<T>(): \
    return &Loop<T, kOp>;
    WEIR_FOR_REALS(WEIR_CASE)
    default:
      break;
  }
  if constexpr (kOp != UpdateOp::kMin && kOp != UpdateOp::kMax) {
    switch (type) {
      WEIR_FOR_COMPLEX(WEIR_CASE)
      default:
        break;
    }
  }
#undef WEIR_CASE
  return nullptr;
}

template <bool kExclusive>
void BoolLoop(void* target, const void* update, int64_t step, int64_t n) {
  bool* const x = static_cast<bool*>(target);
  const bool* const y = static_cast<const bool*>(update);
  for (int64_t i = 0; i < n; ++i) x[i] = kExclusive ? x[i] != y[i * step] : x[i] || y[i * step];
}

template <typename T>
bool HasZero(const void* values, int64_t n) {
  const T* const x = static_cast<const T*>(values);
  return std::find(x, x + n, T{0}) != x + n;
}

}  // namespace

UpdateLoop FindUpdateLoop(UpdateOp op, DataType type) {
  if (type == DT_BOOL && op == UpdateOp::kAdd) return &BoolLoop<false>;
  if (type == DT_BOOL && op == UpdateOp::kSub) return &BoolLoop<true>;
  switch (op) {
    case UpdateOp::kAssign:
      return FindAssignLoop(type);
    case UpdateOp::kAdd:
      return FindArithmeticLoop<UpdateOp::kAdd>(type);
    case UpdateOp::kSub:
      return FindArithmeticLoop<UpdateOp::kSub>(type);
    case UpdateOp::kMul:
      return FindArithmeticLoop<UpdateOp::kMul>(type);
    case UpdateOp::kDiv:
      return FindArithmeticLoop<UpdateOp::kDiv>(type);
    case UpdateOp::kMin:
      return FindArithmeticLoop<UpdateOp::kMin>(type);
    case UpdateOp::kMax:
      return FindArithmeticLoop<UpdateOp::kMax>(type);
  }
  return nullptr;
}

bool HasIntegerZero(DataType type, const void* values, int64_t n) {
  if (!IsInteger(type)) return false;
  switch (DataTypeSize(type)) {
    case 1:
      return HasZero<uint8_t>(values, n);
    case 2:
      return HasZero<uint16_t>(values, n);
    case 4:
      return HasZero<uint32_t>(values, n);
    default:
      return HasZero<uint64_t>(values, n);
  }
}

}  // namespace weir
