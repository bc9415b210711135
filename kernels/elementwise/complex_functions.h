// Functions of complex numbers, at infinities and zeros as C's Annex G has them. For host compilers and for nvcc.
#pragma once

#include <cmath>
#include <limits>

#include "kernels/device/device_code.h"
#include "kernels/elementwise/complex_number.h"

namespace weir::complex_functions {

// A product that is 0 where a factor is, also times infinity: what grows without bound in the other direction.
template <typename V>
WEIR_DEVICE_CODE V Times(V x, V y) {
  const V product = x * y;
  return std::isnan(product) && (x == V(0) || y == V(0)) ? std::copysign(V(0), x) * std::copysign(V(1), y) : product;
}

template <typename V>
WEIR_DEVICE_CODE ComplexNumber<V> Scaled(ComplexNumber<V> x, V scale) {
  return {x.real * scale, x.imaginary * scale};
}
template <typename V>
WEIR_DEVICE_CODE bool IsInfinite(ComplexNumber<V> x) {
  return std::isinf(x.real) || std::isinf(x.imaginary);
}
template <typename V>
WEIR_DEVICE_CODE V LargerPart(ComplexNumber<V> x) {
  return std::fmax(std::abs(x.real), std::abs(x.imaginary));
}
template <typename V>
WEIR_DEVICE_CODE V SmallerPart(ComplexNumber<V> x) {
  return std::fmin(std::abs(x.real), std::abs(x.imaginary));
}

// x^2 + y^2 - 1 to the last bits where x is near 1: what squares lose by rounding is added at the end (Dekker 1971).
template <typename V>
WEIR_DEVICE_CODE V SquaresLessOne(V x, V y) {
  const V x_squared = x * x, y_squared = y * y;
  const V lost = std::fma(x, x, -x_squared) + std::fma(y, y, -y_squared);
  return ((x_squared - V(1)) + y_squared) + lost;
}

struct Exp {
  template <typename V>
  WEIR_DEVICE_CODE ComplexNumber<V> operator()(ComplexNumber<V> x) const {
    const V size = std::exp(x.real);
    if (std::isinf(size) && !std::isinf(x.real)) {
      // Too large alone, and not always times a small cosine or sine.
      const V root = std::exp(V(0.5) * x.real);
      return {Times(Times(std::cos(x.imaginary), root), root), Times(Times(std::sin(x.imaginary), root), root)};
    }
    return {Times(std::cos(x.imaginary), size), Times(std::sin(x.imaginary), size)};
  }
};
struct Log {
  template <typename V>
  WEIR_DEVICE_CODE ComplexNumber<V> operator()(ComplexNumber<V> x) const {
    return {LogOfSize(x), std::atan2(x.imaginary, x.real)};
  }

 private:
  template <typename V>
  WEIR_DEVICE_CODE static V LogOfSize(ComplexNumber<V> x) {
    const V log_2 = V(0.69314718055994530942), size = std::hypot(x.real, x.imaginary);
    if (size > V(0.5) && size < V(2)) return V(0.5) * std::log1p(SquaresLessOne(LargerPart(x), SmallerPart(x)));
    if (std::isinf(size) && !IsInfinite(x)) return std::log(std::hypot(x.real / V(2), x.imaginary / V(2))) + log_2;
    if (size < std::numeric_limits<V>::min()) {
      const V scale = V(1ull << 60);
      return std::log(std::hypot(x.real * scale, x.imaginary * scale)) - V(60) * log_2;
    }
    return std::log(size);
  }
};
// Computed from the larger part, which needs no subtraction.
struct Sqrt {
  template <typename V>
  WEIR_DEVICE_CODE ComplexNumber<V> operator()(ComplexNumber<V> x) const {
    if (x.real == V(0) && x.imaginary == V(0)) return {V(0), x.imaginary};
    if (std::isinf(x.imaginary)) return {std::abs(x.imaginary), x.imaginary};
    // By powers of 4, so that what is halved or added up neither overflows nor loses bits.
    if (LargerPart(x) > std::numeric_limits<V>::max() / V(4)) return Scaled(OfUsualSize(Scaled(x, V(0.0625))), V(4));
    if (LargerPart(x) < std::numeric_limits<V>::min() * V(4)) {
      return Scaled(OfUsualSize(Scaled(x, V(1ull << 60))), V(1) / V(1 << 30));
    }
    return OfUsualSize(x);
  }

 private:
  template <typename V>
  WEIR_DEVICE_CODE static ComplexNumber<V> OfUsualSize(ComplexNumber<V> x) {
    const V half = V(0.5);
    const V larger = std::sqrt(half * std::abs(x.real) + half * std::hypot(x.real, x.imaginary));
    const V smaller = half * std::abs(x.imaginary) / larger;
    if (x.real < V(0)) return {smaller, std::copysign(larger, x.imaginary)};
    return {larger, std::copysign(smaller, x.imaginary)};
  }
};
struct Rsqrt {
  template <typename V>
  WEIR_DEVICE_CODE ComplexNumber<V> operator()(ComplexNumber<V> x) const {
    if (IsInfinite(x)) return {V(0), std::copysign(V(0), -x.imaginary)};
    return ComplexNumber<V>(V(1), V(0)) / Sqrt()(x);
  }
};
struct Sin {
  template <typename V>
  WEIR_DEVICE_CODE ComplexNumber<V> operator()(ComplexNumber<V> x) const {
    return {Times(std::sin(x.real), std::cosh(x.imaginary)), Times(std::cos(x.real), std::sinh(x.imaginary))};
  }
};
struct Cos {
  template <typename V>
  WEIR_DEVICE_CODE ComplexNumber<V> operator()(ComplexNumber<V> x) const {
    return {Times(std::cos(x.real), std::cosh(x.imaginary)), -Times(std::sin(x.real), std::sinh(x.imaginary))};
  }
};
struct Sinh {
  template <typename V>
  WEIR_DEVICE_CODE ComplexNumber<V> operator()(ComplexNumber<V> x) const {
    return {Times(std::cos(x.imaginary), std::sinh(x.real)), Times(std::sin(x.imaginary), std::cosh(x.real))};
  }
};
struct Cosh {
  template <typename V>
  WEIR_DEVICE_CODE ComplexNumber<V> operator()(ComplexNumber<V> x) const {
    return {Times(std::cos(x.imaginary), std::cosh(x.real)), Times(std::sin(x.imaginary), std::sinh(x.real))};
  }
};
struct Tanh {
  template <typename V>
  WEIR_DEVICE_CODE ComplexNumber<V> operator()(ComplexNumber<V> x) const {
    if (x.real == V(0) || x.imaginary == V(0)) return {std::tanh(x.real), std::tan(x.imaginary)};
    const V sine = std::sin(x.imaginary), cosine = std::cos(x.imaginary);
    if (std::isinf(x.real)) return {std::copysign(V(1), x.real), std::copysign(V(0), sine * cosine)};
    // Beyond, the real part is 1, and squares of what grows would overflow.
    if (const V size = std::abs(x.real); size > V(22)) {
      return {std::copysign(V(1), x.real), Times(V(4) * sine * cosine, std::exp(V(-2) * size))};
    }
    const V sinh = std::sinh(x.real), cosh = std::cosh(x.real);
    const V divisor = sinh * sinh + cosine * cosine;
    return {sinh * cosh / divisor, sine * cosine / divisor};
  }
};
// Uses the exponential that does not grow.
struct Sigmoid {
  template <typename V>
  WEIR_DEVICE_CODE ComplexNumber<V> operator()(ComplexNumber<V> x) const {
    const ComplexNumber<V> one(V(1), V(0));
    const ComplexNumber<V> small = Exp()(x.real < V(0) ? x : -x);
    return (x.real < V(0) ? small : one) / (one + small);
  }
};

}  // namespace weir::complex_functions
