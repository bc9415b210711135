// Special functions that the standard library lacks. For host compilers and for nvcc.
#pragma once

#include <cmath>
#include <limits>

#include "kernels/device/device_code.h"

namespace weir::functor {

// The logarithmic derivative of the gamma function; NaN at its poles.
struct Digamma {
  WEIR_DEVICE_CODE double operator()(double x) const {
    double result = 0;
    if (x <= 0) {
      if (x == std::floor(x)) return std::numeric_limits<double>::quiet_NaN();
      result = -M_PI / std::tan(M_PI * x);  // reflection
      x = 1 - x;
    }
    for (; x < 10; x += 1) result -= 1 / x;
    if (std::isinf(x)) return x;
    const double z = 1 / (x * x);
    const double series =
        z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760))))));
    return result + std::log(x) - 0.5 / x - series;
  }
  WEIR_DEVICE_CODE float operator()(float x) const { return static_cast<float>((*this)(static_cast<double>(x))); }
};

// The standard normal quantile of p in (0, 1/2]: Acklam's rational approximation, relative error 1.2e-9, then two steps
// of Halley's method.
WEIR_DEVICE_CODE inline double LowerQuantile(double p) {
  double x;
  if (p < 0.02425) {
    const double q = std::sqrt(-2 * std::log(p));
    x = (((((-7.784894002430293e-03 * q - 3.223964580411365e-01) * q - 2.400758277161838e+00) * q -
           2.549732539343734e+00) *
              q +
          4.374664141464968e+00) *
             q +
         2.938163982698783e+00) /
        ((((7.784695709041462e-03 * q + 3.224671290700398e-01) * q + 2.445134137142996e+00) * q +
          3.754408661907416e+00) *
             q +
         1);
  } else {
    const double q = p - 0.5, r = q * q;
    x = (((((-3.969683028665376e+01 * r + 2.209460984245205e+02) * r - 2.759285104469687e+02) * r +
           1.383577518672690e+02) *
              r -
          3.066479806614716e+01) *
             r +
         2.506628277459239e+00) *
        q /
        (((((-5.447609879822406e+01 * r + 1.615858368580409e+02) * r - 1.556989798598866e+02) * r +
           6.680131188771972e+01) *
              r -
          1.328068155288572e+01) *
             r +
         1);
  }
  for (int i = 0; i < 2; ++i) {
    const double density = std::exp(-x * x / 2) / std::sqrt(2 * M_PI);
    if (density == 0) break;
    const double u = (0.5 * std::erfc(-x * M_SQRT1_2) - p) / density;
    x -= u / (1 + x * u / 2);
  }
  return x;
}

// The quantile function of the standard normal distribution: NaN outside [0, 1].
struct Ndtri {
  WEIR_DEVICE_CODE double operator()(double p) const {
    if (!(p >= 0 && p <= 1)) return std::numeric_limits<double>::quiet_NaN();
    if (p == 0) return -std::numeric_limits<double>::infinity();
    if (p == 1) return std::numeric_limits<double>::infinity();
    return p <= 0.5 ? LowerQuantile(p) : -LowerQuantile(1 - p);
  }
  WEIR_DEVICE_CODE float operator()(float p) const { return static_cast<float>((*this)(static_cast<double>(p))); }
};

// The inverse of erf: NaN outside [-1, 1].
struct Erfinv {
  WEIR_DEVICE_CODE double operator()(double x) const {
    if (!(x >= -1 && x <= 1)) return std::numeric_limits<double>::quiet_NaN();
    if (x == 1 || x == -1) return x * std::numeric_limits<double>::infinity();
    if (std::abs(x) < 1e-8) return x * (std::sqrt(M_PI) / 2);
    const double tail = LowerQuantile((1 - std::abs(x)) / 2) * -M_SQRT1_2;
    return x < 0 ? -tail : tail;
  }
  WEIR_DEVICE_CODE float operator()(float x) const { return static_cast<float>((*this)(static_cast<double>(x))); }
};

}  // namespace weir::functor
