// Functions of complex numbers. For host compilers and for nvcc.
#pragma once

#include <cmath>

#include "kernels/cuda/complex_number.h"
#include "kernels/device_code.h"

namespace weir::complex_functions {

// 0 where the first factor is 0, also times infinity: what grows without bound in the other direction.
template <typename V>
WEIR_DEVICE_CODE V Times(V x, V y) {
  return x == V(0) ? x : x * y;
}

struct Exp {
  template <typename V>
  WEIR_DEVICE_CODE ComplexNumber<V> operator()(ComplexNumber<V> x) const {
    const V size = std::exp(x.real);
    return {Times(std::cos(x.imaginary), size), Times(std::sin(x.imaginary), size)};
  }
};
struct Log {
  template <typename V>
  WEIR_DEVICE_CODE ComplexNumber<V> operator()(ComplexNumber<V> x) const {
    return {std::log(std::hypot(x.real, x.imaginary)), std::atan2(x.imaginary, x.real)};
  }
};
// From the larger of both parts, which nothing is subtracted for.
struct Sqrt {
  template <typename V>
  WEIR_DEVICE_CODE ComplexNumber<V> operator()(ComplexNumber<V> x) const {
    if (x.real == V(0) && x.imaginary == V(0)) return {V(0), x.imaginary};
    if (std::abs(x.imaginary) == static_cast<V>(INFINITY)) return {static_cast<V>(INFINITY), x.imaginary};
    const V half = V(0.5);
    const V larger = std::sqrt(half * std::abs(x.real) + half * std::hypot(x.real, x.imaginary));
    const V smaller = half * std::abs(x.imaginary) / larger;
    if (x.real >= V(0)) return {larger, std::copysign(smaller, x.imaginary)};
    return {smaller, std::copysign(larger, x.imaginary)};
  }
};
struct Rsqrt {
  template <typename V>
  WEIR_DEVICE_CODE ComplexNumber<V> operator()(ComplexNumber<V> x) const {
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
    const V sine = std::sin(x.imaginary), cosine = std::cos(x.imaginary);
    // Beyond, the real part is 1, and squares of what grows would overflow.
    if (const V size = std::abs(x.real); size > V(22)) {
      return {std::copysign(V(1), x.real), Times(V(4) * sine * cosine, std::exp(V(-2) * size))};
    }
    const V sinh = std::sinh(x.real), cosh = std::cosh(x.real);
    const V divisor = sinh * sinh + cosine * cosine;
    return {sinh * cosh / divisor, sine * cosine / divisor};
  }
};
// By whichever exponential does not grow.
struct Sigmoid {
  template <typename V>
  WEIR_DEVICE_CODE ComplexNumber<V> operator()(ComplexNumber<V> x) const {
    const ComplexNumber<V> one(V(1), V(0));
    const ComplexNumber<V> small = Exp()(x.real < V(0) ? x : -x);
    return (x.real < V(0) ? small : one) / (one + small);
  }
};

}  // namespace weir::complex_functions
