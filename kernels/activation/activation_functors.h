// Activations of one element, shared by activation kernels and fused kernels. NaN stays NaN. `alpha` is LeakyRelu's.
#pragma once

#include <cmath>

#include "kernels/device/vector_math.h"

namespace weir::activations {

WEIR_ALWAYS_INLINE float Expm1(float x) { return vector_math::Expm1(x); }
inline double Expm1(double x) { return std::expm1(x); }

struct Relu {
  template <typename T>
  T operator()(T x, float) const {
    return x < T{0} ? T{0} : x;
  }
};
struct Relu6 {
  template <typename T>
  T operator()(T x, float) const {
    const T y = x < T{0} ? T{0} : x;
    return y > T{6} ? T{6} : y;
  }
};
struct LeakyRelu {
  template <typename T>
  T operator()(T x, float alpha) const {
    return x > T{0} ? x : static_cast<T>(x * static_cast<T>(alpha));
  }
};
struct Elu {
  template <typename T>
  WEIR_ALWAYS_INLINE T operator()(T x, float) const {
    const T negative = Expm1(x);
    return x < T{0} ? negative : x;
  }
};

}  // namespace weir::activations
