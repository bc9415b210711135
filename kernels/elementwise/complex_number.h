// Complex elements of GPU kernels: std::complex cannot be used in device code. For host compilers and for nvcc.
#pragma once

#include <cmath>

#include "kernels/device/device_code.h"

namespace weir {

template <typename V>
struct alignas(2 * sizeof(V)) ComplexNumber {
  ComplexNumber() = default;
  template <typename Real>
  WEIR_DEVICE_CODE explicit ComplexNumber(Real value) : real(static_cast<V>(value)), imaginary(0) {}
  WEIR_DEVICE_CODE ComplexNumber(V r, V i) : real(r), imaginary(i) {}

  WEIR_DEVICE_CODE friend ComplexNumber operator-(ComplexNumber x) { return {-x.real, -x.imaginary}; }
  WEIR_DEVICE_CODE friend ComplexNumber operator+(ComplexNumber x, ComplexNumber y) {
    return {x.real + y.real, x.imaginary + y.imaginary};
  }
  WEIR_DEVICE_CODE friend ComplexNumber operator-(ComplexNumber x, ComplexNumber y) {
    return {x.real - y.real, x.imaginary - y.imaginary};
  }
  WEIR_DEVICE_CODE friend ComplexNumber operator*(ComplexNumber x, ComplexNumber y) {
    return {x.real * y.real - x.imaginary * y.imaginary, x.real * y.imaginary + x.imaginary * y.real};
  }
  // Scaled by the larger part of the divisor, so that its square neither overflows nor vanishes (Smith 1962).
  WEIR_DEVICE_CODE friend ComplexNumber operator/(ComplexNumber x, ComplexNumber y) {
    if (y.real == 0 && y.imaginary == 0) return {x.real / y.real, x.imaginary / y.real};
    if (std::abs(y.real) >= std::abs(y.imaginary)) {
      const V ratio = y.imaginary / y.real, scale = y.real + y.imaginary * ratio;
      return {(x.real + x.imaginary * ratio) / scale, (x.imaginary - x.real * ratio) / scale};
    }
    const V ratio = y.real / y.imaginary, scale = y.real * ratio + y.imaginary;
    return {(x.real * ratio + x.imaginary) / scale, (x.imaginary * ratio - x.real) / scale};
  }
  WEIR_DEVICE_CODE friend bool operator==(ComplexNumber x, ComplexNumber y) {
    return x.real == y.real && x.imaginary == y.imaginary;
  }
  WEIR_DEVICE_CODE friend bool operator!=(ComplexNumber x, ComplexNumber y) { return !(x == y); }

  V real, imaginary;
};

template <typename V>
WEIR_DEVICE_CODE ComplexNumber<V> Conjugate(ComplexNumber<V> x) {
  return {x.real, -x.imaginary};
}

}  // namespace weir
