// Functors of two operands, for real, complex and integer elements.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/device/device_code.h"

namespace weir::functor {

template <typename T>
inline constexpr bool kIsComplexPair = false;
template <typename T>
inline constexpr bool kIsComplexPair<std::complex<T>> = true;

// What integers are computed in, so that overflow wraps.
template <typename T>
using Wrapping = std::conditional_t<(sizeof(T) < 8), uint32_t, uint64_t>;

#define WEIR_WRAPPING_FUNCTOR(Name, op)                                                    \
  struct Name {                                                                            \
    template <typename T>                                                                  \
    WEIR_DEVICE_CODE T operator()(T x, T y) const {                                        \
      if constexpr (std::is_integral_v<T>) {                                               \
        return static_cast<T>(static_cast<Wrapping<T>>(x) op static_cast<Wrapping<T>>(y)); \
      } else {                                                                             \
        return x op y;                                                                     \
      }                                                                                    \
    }                                                                                      \
  };
WEIR_WRAPPING_FUNCTOR(Add, +)
WEIR_WRAPPING_FUNCTOR(Sub, -)
WEIR_WRAPPING_FUNCTOR(Mul, *)
#undef WEIR_WRAPPING_FUNCTOR

struct SquaredDifference {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T x, T y) const {
    const T d = Sub()(x, y);
    if constexpr (kIsComplexPair<T>) {
      return d * std::conj(d);
    } else {
      return Mul()(d, d);
    }
  }
};
struct Divide {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T x, T y) const {
    return x / y;
  }
};
struct DivNoNan {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T x, T y) const {
    return y == T(0) ? T(0) : x / y;
  }
};
struct MulNoNan {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T x, T y) const {
    return y == T(0) ? T(0) : x * y;
  }
};
// NaN in either operand gives NaN.
struct Maximum {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T x, T y) const {
    return (x >= y) | (x != x) ? x : y;
  }
};
struct Minimum {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T x, T y) const {
    return (x <= y) | (x != x) ? x : y;
  }
};

// --- Division of integers ---

inline constexpr char kDivisionByZero[] = "Integer division by zero";

// The quotient rounded towards zero; wraps for the smallest value over -1.
struct IntegerDivide {
  static constexpr bool kFails = true;
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T x, T y, bool* ok) const {
    if (y == 0) return *ok = false, T(0);
    if (std::is_signed_v<T> && y == T(-1)) return static_cast<T>(Wrapping<T>(0) - static_cast<Wrapping<T>>(x));
    return static_cast<T>(x / y);
  }
};
struct IntegerRemainder {
  static constexpr bool kFails = true;
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T x, T y, bool* ok) const {
    if (y == 0) return *ok = false, T(0);
    if (std::is_signed_v<T> && y == T(-1)) return T(0);
    return static_cast<T>(x % y);
  }
};
struct IntegerFloorDivide {
  static constexpr bool kFails = true;
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T x, T y, bool* ok) const {
    const T quotient = IntegerDivide()(x, y, ok);
    if (!std::is_signed_v<T> || y == 0 || y == T(-1)) return quotient;
    return static_cast<T>(quotient - (x % y != 0 && (x < 0) != (y < 0)));
  }
};
// The remainder has the divisor's sign.
struct IntegerFloorRemainder {
  static constexpr bool kFails = true;
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T x, T y, bool* ok) const {
    const T remainder = IntegerRemainder()(x, y, ok);
    return remainder != 0 && (remainder < 0) != (y < 0) ? static_cast<T>(remainder + y) : remainder;
  }
};

struct FloorDivide {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T x, T y) const {
    return std::floor(x / y);
  }
};
struct TruncateDivide {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T x, T y) const {
    return std::trunc(x / y);
  }
};
struct Remainder {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T x, T y) const {
    return std::fmod(x, y);
  }
};
struct FloorRemainder {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T x, T y) const {
    const T remainder = std::fmod(x, y);
    return remainder != 0 && (remainder < 0) != (y < 0) ? remainder + y : remainder;
  }
};

// --- Powers and logarithms ---

struct Pow {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T x, T y) const {
    return std::pow(x, y);
  }
};
inline constexpr char kNegativePower[] = "Integers to negative integer powers are not allowed";
struct IntegerPow {
  static constexpr bool kFails = true;
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T x, T y, bool* ok) const {
    if (std::is_signed_v<T> && y < 0) return *ok = false, T(0);
    Wrapping<T> base = static_cast<Wrapping<T>>(x), power = 1;
    for (auto n = static_cast<uint64_t>(y); n != 0; n >>= 1, base *= base) {
      if (n & 1) power *= base;
    }
    return static_cast<T>(power);
  }
};
struct Xlogy {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T x, T y) const {
    return x == T(0) ? T(0) : x * std::log(y);
  }
};
struct Xdivy {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T x, T y) const {
    return x == T(0) ? T(0) : x / y;
  }
};
struct Xlog1py {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T x, T y) const {
    if (x == T(0)) return T(0);
    if constexpr (kIsComplexPair<T>) {
      return x * std::log(T(1) + y);
    } else {
      return x * std::log1p(y);
    }
  }
};
struct Atan2 {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T y, T x) const {
    return std::atan2(y, x);
  }
};
struct NextAfter {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T x, T y) const {
    return std::nextafter(x, y);
  }
};

// --- Gradients in terms of the function's value y and the incoming gradient ---

struct TanhGrad {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T y, T dy) const {
    return dy * (T(1) - y * y);
  }
};
struct SigmoidGrad {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T y, T dy) const {
    return dy * y * (T(1) - y);
  }
};
// The next three are zero where the incoming gradient is, so that a pole that nothing depends on gives no NaN.
struct SqrtGrad {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T y, T dy) const {
    return dy == T(0) ? T(0) : dy * T(0.5) / y;
  }
};
struct RsqrtGrad {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T y, T dy) const {
    return dy == T(0) ? T(0) : dy * T(-0.5) * y * (y * y);
  }
};
struct ReciprocalGrad {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T y, T dy) const {
    return dy == T(0) ? T(0) : -dy * (y * y);
  }
};
// Some gradients conjugate a complex value; for the others the caller does.
template <typename F>
struct ConjugateFirst {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T y, T dy) const {
    return F()(std::conj(y), dy);
  }
};

// --- Comparisons, logic, bits ---

#define WEIR_COMPARISON_FUNCTOR(Name, op)              \
  struct Name {                                        \
    template <typename T>                              \
    WEIR_DEVICE_CODE bool operator()(T x, T y) const { \
      return x op y;                                   \
    }                                                  \
  };
WEIR_COMPARISON_FUNCTOR(Less, <)
WEIR_COMPARISON_FUNCTOR(LessEqual, <=)
WEIR_COMPARISON_FUNCTOR(Greater, >)
WEIR_COMPARISON_FUNCTOR(GreaterEqual, >=)
#undef WEIR_COMPARISON_FUNCTOR
struct Equal {
  template <typename T>
  WEIR_DEVICE_CODE bool operator()(const T& x, const T& y) const {
    return x == y;
  }
};
struct NotEqual {
  template <typename T>
  WEIR_DEVICE_CODE bool operator()(const T& x, const T& y) const {
    return x != y;
  }
};

#define WEIR_BITS_FUNCTOR(Name, op)                 \
  struct Name {                                     \
    template <typename T>                           \
    WEIR_DEVICE_CODE T operator()(T x, T y) const { \
      return static_cast<T>(x op y);                \
    }                                               \
  };
WEIR_BITS_FUNCTOR(And, &)
WEIR_BITS_FUNCTOR(Or, |)
WEIR_BITS_FUNCTOR(Xor, ^)
#undef WEIR_BITS_FUNCTOR
// Shift counts are clamped to the width of the type.
template <typename T>
WEIR_DEVICE_CODE T ClampShift(T count) {
  constexpr T kMost = sizeof(T) * 8 - 1;
  return count < 0 ? T(0) : count > kMost ? kMost : count;
}
struct LeftShift {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T x, T y) const {
    return static_cast<T>(static_cast<Wrapping<T>>(x) << ClampShift(y));
  }
};
struct RightShift {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T x, T y) const {
    return static_cast<T>(x >> ClampShift(y));
  }
};
struct MakeComplex {
  template <typename T>
  WEIR_DEVICE_CODE std::complex<T> operator()(T re, T im) const {
    return {re, im};
  }
};
struct Concatenate {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(const T& x, const T& y) const {
    return x + y;
  }
};

}  // namespace weir::functor
