// The incomplete gamma and beta functions, Hurwitz's zeta function and what derives from them. For host compilers and
// for nvcc.
#pragma once

#include <cmath>
#include <limits>

#include "kernels/elementwise/special/special_functions.h"
#include "kernels/elementwise/unary_functors.h"

namespace weir::functor {

#define WEIR_SPECIAL_FUNCTION(Name)                                                       \
  struct Name {                                                                           \
    WEIR_DEVICE_CODE double operator()(double a, double x) const;                         \
    WEIR_DEVICE_CODE float operator()(float a, float x) const {                           \
      return static_cast<float>((*this)(static_cast<double>(a), static_cast<double>(x))); \
    }                                                                                     \
  };
WEIR_SPECIAL_FUNCTION(Igamma)           // the lower one, regularised: P(a, x)
WEIR_SPECIAL_FUNCTION(Igammac)          // 1 - P
WEIR_SPECIAL_FUNCTION(IgammaGradA)      // dP/da
WEIR_SPECIAL_FUNCTION(RandomGammaGrad)  // dx/da where P(a, x) stays: how a gamma-distributed number x moves with a
WEIR_SPECIAL_FUNCTION(Zeta)
WEIR_SPECIAL_FUNCTION(Polygamma)
#undef WEIR_SPECIAL_FUNCTION

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
inline constexpr int kMaxTerms = 20000;  // enough for parameters up to 1e7

// A value and its derivative.
struct Dual {
  double v = 0, d = 0;
};
WEIR_DEVICE_CODE inline Dual operator+(Dual x, Dual y) { return {x.v + y.v, x.d + y.d}; }
WEIR_DEVICE_CODE inline Dual operator*(Dual x, Dual y) { return {x.v * y.v, x.d * y.v + x.v * y.d}; }
WEIR_DEVICE_CODE inline Dual operator/(Dual x, Dual y) { return {x.v / y.v, (x.d - x.v / y.v * y.d) / y.v}; }

// S in P(a, x) = x^a exp(-x) / gamma(a + 1) * S, with dS/da. For x below a or 1.
WEIR_DEVICE_CODE inline Dual LowerSeries(double a, double x) {
  Dual term{1, 0}, sum{1, 0};
  for (int n = 1; n < kMaxTerms; ++n) {
    const double ratio = x / (a + n);
    term = term * Dual{ratio, -ratio / (a + n)};
    sum = sum + term;
    if (std::abs(term.v) <= sum.v * kEpsilon / 2 && std::abs(term.d) <= std::abs(sum.d) * kEpsilon / 2) break;
  }
  return sum;
}

// H in 1 - P(a, x) = x^a exp(-x) / gamma(a) * H, with dH/da: a continued fraction by Lentz's method.
WEIR_DEVICE_CODE inline Dual UpperFraction(double a, double x) {
  constexpr double kTiny = 1e-300;
  Dual b{x + 1 - a, -1};
  Dual c{1 / kTiny, 0}, d = Dual{1, 0} / b, h = d;
  for (int n = 1; n < kMaxTerms; ++n) {
    const Dual an{-n * (n - a), static_cast<double>(n)};
    b.v += 2;
    d = an * d + b;
    if (std::abs(d.v) < kTiny) d.v = kTiny;
    c = b + an / c;
    if (std::abs(c.v) < kTiny) c.v = kTiny;
    d = Dual{1, 0} / d;
    const Dual factor = d * c;
    h = h * factor;
    if (std::abs(factor.v - 1) <= kEpsilon && std::abs(factor.d) <= kEpsilon * std::abs(h.d / h.v)) break;
  }
  return h;
}

WEIR_DEVICE_CODE inline bool UseSeries(double a, double x) { return x <= 1 || x <= a; }

WEIR_DEVICE_CODE inline double LowerFromSeries(double a, double x) {
  return std::exp(a * std::log(x) - x - Lgamma()(a + 1)) * LowerSeries(a, x).v;
}
WEIR_DEVICE_CODE inline double UpperFromFraction(double a, double x) {
  return std::exp(a * std::log(x) - x - Lgamma()(a)) * UpperFraction(a, x).v;
}

WEIR_DEVICE_CODE inline double Igamma::operator()(double a, double x) const {
  if (x == 0) return 0;
  if (a != a || x != x || x < 0 || a <= 0) return kNaN;
  if (a == kInfinity) return 0;
  if (x == kInfinity) return 1;
  return UseSeries(a, x) ? LowerFromSeries(a, x) : 1 - UpperFromFraction(a, x);
}

WEIR_DEVICE_CODE inline double Igammac::operator()(double a, double x) const {
  if (a != a || x != x || x < 0 || a <= 0) return kNaN;
  if (x == 0) return 1;
  if (x == kInfinity) return a == kInfinity ? kNaN : 0;
  if (a == kInfinity) return 1;
  return UseSeries(a, x) ? 1 - LowerFromSeries(a, x) : UpperFromFraction(a, x);
}

WEIR_DEVICE_CODE inline double IgammaGradA::operator()(double a, double x) const {
  if (!(a > 0 && x >= 0) || a == kInfinity) return kNaN;
  if (x == 0 || x == kInfinity) return 0;
  if (UseSeries(a, x)) {
    const Dual s = LowerSeries(a, x);
    return std::exp(a * std::log(x) - x - Lgamma()(a + 1)) * (s.d + s.v * (std::log(x) - Digamma()(a + 1)));
  }
  const Dual h = UpperFraction(a, x);
  return -std::exp(a * std::log(x) - x - Lgamma()(a)) * (h.d + h.v * (std::log(x) - Digamma()(a)));
}

// The factors before the series cancel against the density.
WEIR_DEVICE_CODE inline double RandomGammaGrad::operator()(double a, double x) const {
  if (!(a > 0 && x >= 0) || a == kInfinity) return kNaN;
  if (x == 0) return 0;
  if (x == kInfinity) return kNaN;
  if (UseSeries(a, x)) {
    const Dual s = LowerSeries(a, x);
    return -(s.d + s.v * (std::log(x) - Digamma()(a + 1))) * x / a;
  }
  const Dual h = UpperFraction(a, x);
  return (h.d + h.v * (std::log(x) - Digamma()(a))) * x;
}

// sum over k >= 0 of (q + k)^-x for q > 0 by Euler and Maclaurin's formula.
WEIR_DEVICE_CODE inline double HurwitzZeta(double x, double q) {
  constexpr double kBernoulli[] = {1.0 / 6,       -1.0 / 30,       1.0 / 42,       -1.0 / 30,
                                   5.0 / 66,      -691.0 / 2730,   7.0 / 6,        -3617.0 / 510,
                                   43867.0 / 798, -174611.0 / 330, 854513.0 / 138, -236364091.0 / 2730};
  double sum = 0;
  for (int k = 0; k < 10; ++k) {
    const double term = std::pow(q + k, -x);
    sum += term;
    if (k > 0 && term < sum * kEpsilon / 4) return sum;
  }
  const double a = q + 10, power = std::pow(a, -x);
  sum += power * a / (x - 1) + power / 2;
  double factor = x * power / a;  // x (x + 1) … / a^(x + 2j - 1) / (2j)!, without the Bernoulli number
  for (int j = 1; j <= 12; ++j) {
    factor /= j == 1 ? 2 : (2.0 * j) * (2 * j - 1);
    const double term = kBernoulli[j - 1] * factor;
    sum += term;
    if (std::abs(term) < sum * kEpsilon / 4) break;
    factor *= (x + 2 * j - 1) * (x + 2 * j) / (a * a);
  }
  return sum;
}

WEIR_DEVICE_CODE inline double Zeta::operator()(double x, double q) const {
  if (x == 1) return kInfinity;
  if (x != x || q != q || x < 1) return kNaN;
  if (q == kInfinity || (x == kInfinity && q > 1)) return 0;
  if (q > 0) return HurwitzZeta(x, q);
  if (x == kInfinity) return kInfinity;
  const bool even = std::fmod(x, 2) == 0;
  if (q == std::floor(q)) return even ? kInfinity : kNaN;
  if (x != std::floor(x)) return kNaN;
  // The terms below zero are, but for their sign, two tails of sums above zero.
  const double below = std::ceil(-q), least = -q - (below - 1);
  const double negative = HurwitzZeta(x, least) - HurwitzZeta(x, 1 - q);
  return (even ? negative : -negative) + HurwitzZeta(x, q + below);
}

WEIR_DEVICE_CODE inline double Polygamma::operator()(double n, double x) const {
  if (n != std::floor(n) || n < 0) return kNaN;
  if (n == 0) return Digamma()(x);
  const double sign = std::fmod(n, 2) == 0 ? -1 : 1;
  return sign * std::exp(Lgamma()(n + 1)) * Zeta()(n + 1, x);
}

WEIR_DEVICE_CODE inline double BetaFraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  const auto safe = [](double v) { return std::abs(v) < kTiny ? kTiny : v; };
  double c = 1, d = 1 / safe(1 - (a + b) * x / (a + 1)), h = d;
  for (int m = 1; m < kMaxTerms; ++m) {
    double step = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / safe(1 + step * d);
    c = safe(1 + step / c);
    h *= d * c;
    step = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / safe(1 + step * d);
    c = safe(1 + step / c);
    h *= d * c;
    if (std::abs(d * c - 1) <= kEpsilon) break;
  }
  return h;
}

// The incomplete beta function, regularised: I_x(a, b).
WEIR_DEVICE_CODE inline double Betainc(double a, double b, double x) {
  if (!(a > 0 && b > 0 && x >= 0 && x <= 1)) return kNaN;
  if (x == 0 || x == 1) return x;
  const double front = std::exp(Lgamma()(a + b) - Lgamma()(a) - Lgamma()(b) + a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * BetaFraction(a, b, x) / a;
  return 1 - front * BetaFraction(b, a, 1 - x) / b;
}

}  // namespace weir::functor
