// Functors of one operand, for real and complex elements.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <type_traits>

#include "kernels/device/device_code.h"

namespace weir::functor {

template <typename T>
inline constexpr bool kIsComplex = false;
template <typename T>
inline constexpr bool kIsComplex<std::complex<T>> = true;

// Signed integers wrap on overflow.
template <typename T>
WEIR_DEVICE_CODE T Wrap(std::make_unsigned_t<T> value) {
  return static_cast<T>(value);
}

struct Neg {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T x) const {
    if constexpr (std::is_integral_v<T>) {
      return Wrap<T>(std::make_unsigned_t<T>(0) - std::make_unsigned_t<T>(x));
    } else {
      return -x;
    }
  }
};
struct Abs {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T x) const {
    if constexpr (std::is_integral_v<T>) {
      return x < 0 ? Neg()(x) : x;
    } else {
      return std::abs(x);
    }
  }
};
struct Sign {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T x) const {
    if constexpr (kIsComplex<T>) {
      return x == T(0) ? T(0) : x / std::abs(x);
    } else if constexpr (std::is_floating_point_v<T>) {
      return x != x ? x : T((x > 0) - (x < 0));
    } else {
      return T((x > 0) - (x < 0));
    }
  }
};
struct Square {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T x) const {
    if constexpr (std::is_integral_v<T>) {
      const uint64_t wide = static_cast<uint64_t>(x);
      return static_cast<T>(wide * wide);
    } else {
      return x * x;
    }
  }
};
struct Reciprocal {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T x) const {
    return T(1) / x;
  }
};
struct Rsqrt {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T x) const {
    return T(1) / std::sqrt(x);
  }
};
struct Sigmoid {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T x) const {
    return T(1) / (T(1) + std::exp(-x));
  }
};
struct RoundHalfToEven {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T x) const {
    if constexpr (std::is_integral_v<T>) {
      return x;
    } else {
      return std::nearbyint(x);
    }
  }
};
struct Invert {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T x) const {
    return static_cast<T>(~x);
  }
};
struct PopulationCount {
  template <typename T>
  WEIR_DEVICE_CODE uint8_t operator()(T x) const {
    return static_cast<uint8_t>(__builtin_popcountll(static_cast<std::make_unsigned_t<T>>(x)));
  }
};
struct IsNan {
  template <typename T>
  WEIR_DEVICE_CODE bool operator()(T x) const {
    return x != x;
  }
};
struct IsInf {
  template <typename T>
  WEIR_DEVICE_CODE bool operator()(T x) const {
    return std::abs(x) == std::numeric_limits<T>::infinity();
  }
};
struct IsFinite {
  template <typename T>
  WEIR_DEVICE_CODE bool operator()(T x) const {
    return std::abs(x) < std::numeric_limits<T>::infinity();
  }
};
struct LogicalNot {
  WEIR_DEVICE_CODE bool operator()(bool x) const { return !x; }
};
struct Conj {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T x) const {
    return std::conj(x);
  }
};
struct Real {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(std::complex<T> x) const {
    return x.real();
  }
};
struct Imag {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(std::complex<T> x) const {
    return x.imag();
  }
};
struct ComplexAbs {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(std::complex<T> x) const {
    return std::abs(x);
  }
};
struct Angle {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(std::complex<T> x) const {
    return std::arg(x);
  }
};

#define WEIR_STD_FUNCTOR(Name, function)       \
  struct Name {                                \
    template <typename T>                      \
    WEIR_DEVICE_CODE T operator()(T x) const { \
      return std::function(x);                 \
    }                                          \
  };
WEIR_STD_FUNCTOR(Sqrt, sqrt)
WEIR_STD_FUNCTOR(Exp, exp)
WEIR_STD_FUNCTOR(Log, log)
WEIR_STD_FUNCTOR(Tanh, tanh)
WEIR_STD_FUNCTOR(Sin, sin)
WEIR_STD_FUNCTOR(Cos, cos)
WEIR_STD_FUNCTOR(Tan, tan)
WEIR_STD_FUNCTOR(Asin, asin)
WEIR_STD_FUNCTOR(Acos, acos)
WEIR_STD_FUNCTOR(Atan, atan)
WEIR_STD_FUNCTOR(Sinh, sinh)
WEIR_STD_FUNCTOR(Cosh, cosh)
WEIR_STD_FUNCTOR(Asinh, asinh)
WEIR_STD_FUNCTOR(Acosh, acosh)
WEIR_STD_FUNCTOR(Atanh, atanh)
WEIR_STD_FUNCTOR(Floor, floor)
WEIR_STD_FUNCTOR(Ceil, ceil)
WEIR_STD_FUNCTOR(Erf, erf)
WEIR_STD_FUNCTOR(Erfc, erfc)
#undef WEIR_STD_FUNCTOR

struct Log1p {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T x) const {
    if constexpr (kIsComplex<T>) {
      // log|1+x| without cancellation near zero; the argument is exact enough as it is.
      using R = typename T::value_type;
      const R re = x.real(), im = x.imag();
      return T(std::log1p(re * (re + 2) + im * im) / 2, std::atan2(im, 1 + re));
    } else {
      return std::log1p(x);
    }
  }
};
struct Expm1 {
  template <typename T>
  WEIR_DEVICE_CODE T operator()(T x) const {
    if constexpr (kIsComplex<T>) {
      using R = typename T::value_type;
      const R a = std::expm1(x.real()), s = std::sin(x.imag() / 2);
      return T(a - 2 * s * s * (a + 1), (a + 1) * std::sin(x.imag()));
    } else {
      return std::expm1(x);
    }
  }
};
// The sign that the host's functions give beside has no place here.
struct Lgamma {
  WEIR_DEVICE_CODE double operator()(double x) const {
#if defined(__CUDA_ARCH__)
    return ::lgamma(x);
#else
    int sign;
    return lgamma_r(x, &sign);
#endif
  }
  WEIR_DEVICE_CODE float operator()(float x) const {
#if defined(__CUDA_ARCH__)
    return ::lgammaf(x);
#else
    int sign;
    return lgammaf_r(x, &sign);
#endif
  }
};

}  // namespace weir::functor
