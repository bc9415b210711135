#include "kernels/elementwise/special/bessel.h"

#include <cmath>
#include <limits>

namespace weir::functor {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr double kEuler = 0.57721566490153286060651209008240243;

// sum of (x/2)^(2k + order) / (k! (k + order)!): all terms have one sign.
double SeriesI(int order, double x) {
  const double q = x * x / 4;
  double term = order == 0 ? 1 : x / 2, sum = term;
  for (int k = 1; k < 500; ++k) {
    term *= q / (static_cast<double>(k) * (k + order));
    sum += term;
    if (term < sum * kEpsilon / 4) break;
  }
  return sum;
}

// sum of a_k(order) / x^k with alternating signs (I) or without (K), until terms no longer shrink.
double Asymptotic(int order, double x, double sign) {
  const double mu = 4.0 * order * order;
  double term = 1, sum = 1;
  for (int k = 1; k < 100; ++k) {
    const double odd = 2 * k - 1, next = term * sign * (mu - odd * odd) / (8 * k * x);
    if (std::abs(next) > std::abs(term)) break;
    term = next;
    sum += term;
    if (std::abs(term) < kEpsilon * std::abs(sum) / 4) break;
  }
  return sum;
}

constexpr double kLargeI = 30;

double ScaledI(int order, double x) {
  if (x <= kLargeI) return std::exp(-x) * SeriesI(order, x);
  if (x == kInfinity) return 0;
  return Asymptotic(order, x, -1) / std::sqrt(2 * M_PI * x);
}
double UnscaledI(int order, double x) {
  if (x <= kLargeI) return SeriesI(order, x);
  const double half = std::exp(x / 2);  // the whole may overflow before the root divides it
  return half * (half * (Asymptotic(order, x, -1) / std::sqrt(2 * M_PI * x)));
}

// K by its series around 0; from 2 on by an integral that the trapezoidal rule sums to full accuracy:
// exp(x) K(x) = integral over t >= 0 of exp(-x (cosh t - 1)) cosh(order t).
double SeriesK(int order, double x) {
  const double q = x * x / 4, log_half = std::log(x / 2);
  if (order == 0) {
    double term = 1, harmonic = 0, sum = -log_half - kEuler;
    for (int k = 1; k < 60; ++k) {
      term *= q / (static_cast<double>(k) * k);
      harmonic += 1.0 / k;
      sum += term * (harmonic - log_half - kEuler);
    }
    return sum;
  }
  double term = x / 2, psi = 1 - 2 * kEuler, sum = 0;
  for (int k = 0; k < 60; ++k) {
    sum += term * (log_half - psi / 2);
    term *= q / ((k + 1.0) * (k + 2.0));
    psi += 1.0 / (k + 1) + 1.0 / (k + 2);
  }
  return 1 / x + sum;
}
double ScaledK(int order, double x) {
  if (x != x) return x;
  if (x <= 0) return kInfinity;
  if (x == kInfinity) return 0;
  if (x < 2) return std::exp(x) * SeriesK(order, x);
  if (x > 40) return Asymptotic(order, x, 1) * std::sqrt(M_PI / (2 * x));
  constexpr double kStep = 1.0 / 16;
  double sum = 0.5;
  for (int i = 1; i < 400; ++i) {
    const double t = i * kStep, half = std::sinh(t / 2), exponent = 2 * x * half * half;
    if (exponent > 745) break;
    sum += std::exp(-exponent) * (order == 0 ? 1 : std::cosh(t));
  }
  return sum * kStep;
}
double UnscaledK(int order, double x) {
  if (x > 0 && x < 2) return SeriesK(order, x);
  return ScaledK(order, x) * std::exp(-x);
}

}  // namespace

double BesselI0e::operator()(double x) const { return ScaledI(0, std::abs(x)); }
double BesselI1e::operator()(double x) const { return std::copysign(ScaledI(1, std::abs(x)), x); }
double BesselI0::operator()(double x) const { return UnscaledI(0, std::abs(x)); }
double BesselI1::operator()(double x) const { return std::copysign(UnscaledI(1, std::abs(x)), x); }
double BesselK0e::operator()(double x) const { return ScaledK(0, x); }
double BesselK1e::operator()(double x) const { return ScaledK(1, x); }
double BesselK0::operator()(double x) const { return UnscaledK(0, x); }
double BesselK1::operator()(double x) const { return UnscaledK(1, x); }

// At infinity J, Y, the exponential integral and the dilogarithm are NaN, as in TensorFlow.
double BesselJ0::operator()(double x) const { return std::isinf(x) ? kNaN : ::j0(x); }
double BesselJ1::operator()(double x) const { return std::isinf(x) ? kNaN : ::j1(x); }
double BesselY0::operator()(double x) const { return x <= 0 ? -kInfinity : x == kInfinity ? kNaN : ::y0(x); }
double BesselY1::operator()(double x) const { return x <= 0 ? -kInfinity : x == kInfinity ? kNaN : ::y1(x); }
float BesselY1::operator()(float x) const {
  return static_cast<float>(x == 0 ? kNaN : (*this)(static_cast<double>(x)));
}

// Rybicki's sampling theorem: F(x) = lim 1/sqrt(pi) sum over odd n of exp(-(x - n h)^2) / n, exact to rounding for this
// step. Near 0, where terms cancel, the series; far away, the asymptotic one.
double Dawsn::operator()(double x) const {
  const double a = std::abs(x);
  if (a < 0.5) {
    double term = x, sum = x;
    for (int k = 1; k < 40; ++k) {
      term *= -2 * x * x / (2 * k + 1);
      sum += term;
    }
    return sum;
  }
  if (a > 12) {
    if (a == kInfinity) return 0;
    const double y = 1 / (2 * x * x);
    double term = 1, sum = 1;
    for (int k = 1; k < 20; ++k) {
      term *= (2 * k - 1) * y;
      sum += term;
    }
    return sum / (2 * x);
  }
  constexpr double kStep = 0.25;
  const int centre = 2 * static_cast<int>(std::lround(a / (2 * kStep)));
  double sum = 0;
  for (int offset = -31; offset <= 31; offset += 2) {
    const int n = centre + offset;
    const double d = a - n * kStep;
    sum += std::exp(-d * d) / n;
  }
  return std::copysign(sum / std::sqrt(M_PI), x);
}

double Expint::operator()(double x) const {
  if (!(x > 0)) return x == 0 ? -kInfinity : kNaN;
  if (x == kInfinity) return kNaN;
  if (x < 40) {
    double term = 1, sum = 0;
    for (int k = 1; k < 200; ++k) {
      term *= x / k;
      sum += term / k;
      if (term / k < sum * kEpsilon / 4) break;
    }
    return kEuler + std::log(x) + sum;
  }
  double term = 1, sum = 1;
  for (int k = 1; k < 60 && k < x; ++k) {
    term *= k / x;
    sum += term;
    if (term < kEpsilon / 4) break;
  }
  return std::exp(x) / x * sum;
}

namespace {

// The auxiliary functions f and g of Fresnel's integrals for x >= 3: sqrt(2)/pi times the integrals over u >= 0 of
// exp(-pi x^2 u^2 / 2) (1 or u^2) / (1 + u^4), by the trapezoidal rule; far away, by their asymptotic series.
void Auxiliary(double x, double* f, double* g) {
  const double pi_x2 = M_PI * x * x;
  if (x < 5) {
    constexpr double kStep = 1.0 / 16;
    double f_sum = 0.5, g_sum = 0;
    for (int i = 1; i < 40; ++i) {
      const double u2 = i * i * kStep * kStep, weight = std::exp(-pi_x2 / 2 * u2) / (1 + u2 * u2);
      f_sum += weight;
      g_sum += weight * u2;
    }
    *f = M_SQRT2 / M_PI * kStep * f_sum;
    *g = M_SQRT2 / M_PI * kStep * g_sum;
    return;
  }
  const double y = 1 / (pi_x2 * pi_x2);
  double f_sum = 1, g_sum = 1, f_term = 1, g_term = 1;
  for (int m = 1; m < 20; ++m) {
    const double next_f = -f_term * (4 * m - 3) * (4 * m - 1) * y, next_g = -g_term * (4 * m - 1) * (4 * m + 1) * y;
    if (std::abs(next_g) > std::abs(g_term)) break;
    f_sum += f_term = next_f;
    g_sum += g_term = next_g;
  }
  *f = f_sum / (M_PI * x);
  *g = g_sum / (M_PI * x * pi_x2);
}

// Both integrals of |x|: a power series up to 3, then through the auxiliary functions f and g.
void Fresnel(double x, double* cosine, double* sine) {
  const double a = std::abs(x);
  double c, s;
  if (a < 3) {
    // Terms grow to exp(pi a^2 / 2) before they shrink: the extra digits of long double pay for that.
    const long double t = M_PIl / 2 * a * a;
    long double term = a, even = 0, odd = 0;
    for (int k = 0; k < 100; ++k) {
      const long double part = term / (2 * k + 1);
      const int phase = k % 4;
      (k % 2 == 0 ? even : odd) += phase < 2 ? part : -part;
      term *= t / (k + 1);
    }
    c = static_cast<double>(even);
    s = static_cast<double>(odd);
  } else if (a == kInfinity || a > 1e8) {
    c = s = 0.5;
  } else {
    double f, g;
    Auxiliary(a, &f, &g);
    // The angle pi a^2 / 2 modulo a turn: whole multiples of 4 drop out of a^2, exactly.
    const double square = a * a, low = std::fma(a, a, -square);
    const double angle = M_PI / 2 * (std::fmod(square, 4.0) + low);
    c = 0.5 + f * std::sin(angle) - g * std::cos(angle);
    s = 0.5 - f * std::cos(angle) - g * std::sin(angle);
  }
  *cosine = std::copysign(c, x);
  *sine = std::copysign(s, x);
}

// sum of z^k / k^2 for |z| <= 1/2.
double Dilogarithm(double z) {
  double power = 1, sum = 0;
  for (int k = 1; k < 64; ++k) {
    power *= z;
    sum += power / (static_cast<double>(k) * k);
  }
  return sum;
}

}  // namespace

double FresnelCos::operator()(double x) const {
  if (x != x) return x;
  double c, s;
  Fresnel(x, &c, &s);
  return c;
}
double FresnelSin::operator()(double x) const {
  if (x != x) return x;
  double c, s;
  Fresnel(x, &c, &s);
  return s;
}

// Li2(1 - x), with z = 1 - x brought into [-1/2, 1/2] by the functional equations.
double Spence::operator()(double x) const {
  constexpr double kSixth = M_PI * M_PI / 6;
  if (!(x >= 0)) return kNaN;
  if (x == 0) return kSixth;
  if (x == 1) return 0;
  if (x == kInfinity) return kNaN;
  if (x < 0.5) return kSixth - std::log(x) * std::log1p(-x) - Dilogarithm(x);
  if (x <= 1.5) return Dilogarithm(1 - x);
  const double log = std::log(x);
  if (x <= 2) return -log * log / 2 - Dilogarithm((x - 1) / x);
  // Inversion, then as above for 1/x.
  const double y = 1 / x;
  return -log * log / 2 - (kSixth - std::log(y) * std::log1p(-y) - Dilogarithm(y));
}

}  // namespace weir::functor
