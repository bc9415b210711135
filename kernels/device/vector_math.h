// Elementary functions of float as straight-line code, so that a loop over them becomes vector instructions. Each is
// within 2 units in the last place of the true value and honours NaN, infinities, zeros and denormals.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace weir::vector_math {

#define WEIR_ALWAYS_INLINE inline __attribute__((always_inline))

// Two to the power of an integer in [-126, 127].
WEIR_ALWAYS_INLINE float PowerOfTwo(int32_t exponent) { return std::bit_cast<float>((exponent + 127) << 23); }

// Cephes: reduces to [-ln2/2, ln2/2] with ln 2 in two parts, then a polynomial of degree 7. The result is scaled in two
// steps, so that it reaches into the denormals and overflows to infinity. Beyond the least denormal nothing is scaled:
// processors take a hundred times as long for what ends there, and hidden scores of attention all do.
WEIR_ALWAYS_INLINE float Exp(float x) {
  float t = x < -104.0f ? 0.0f : x;
  t = t > 89.0f ? 89.0f : t;
  const float m = std::floor(t * 1.44269504088896341f + 0.5f);
  const float r = (t - m * 0.693359375f) - m * -2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  const int32_t exponent = static_cast<int32_t>(m == m ? m : 0.0f);
  const int32_t first = exponent >> 1;
  float y = p * PowerOfTwo(first) * PowerOfTwo(exponent - first);
  y = x < -104.0f ? 0.0f : y;
  return x == x ? y : x;
}

// Cephes: the mantissa in [sqrt(1/2), sqrt(2)), a polynomial of degree 9.
WEIR_ALWAYS_INLINE float Log(float x) {
  const bool tiny = x < std::numeric_limits<float>::min();
  const float scaled = tiny ? x * 8388608.0f : x;
  const uint32_t bits = std::bit_cast<uint32_t>(scaled);
  const int32_t biased = static_cast<int32_t>(bits >> 23) & 0xff;
  float m = std::bit_cast<float>((bits & 0x007fffffu) | 0x3f000000u);
  float e = static_cast<float>(biased - 126 - (tiny ? 23 : 0));
  const bool low = m < 0.707106781186547524f;
  e = low ? e - 1.0f : e;
  m = (low ? m + m : m) - 1.0f;
  const float z = m * m;
  float p = 7.0376836292e-2f;
  p = p * m - 1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m - 1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m - 1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m - 2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  float y = p * m * z + e * -2.12194440e-4f - 0.5f * z;
  y = m + y + e * 0.693359375f;
  y = x == std::numeric_limits<float>::infinity() ? x : y;
  y = x == 0.0f ? -std::numeric_limits<float>::infinity() : y;
  y = x < 0.0f ? std::numeric_limits<float>::quiet_NaN() : y;
  return x == x ? y : x;
}

// A rational approximation (13, 6) on [-7.9, 7.9], beyond which float's tanh is 1.
WEIR_ALWAYS_INLINE float Tanh(float x) {
  float t = x < -7.90531110763549805f ? -7.90531110763549805f : x;
  t = t > 7.90531110763549805f ? 7.90531110763549805f : t;
  const float s = t * t;
  float p = -2.76076847742355e-16f;
  p = p * s + 2.00018790482477e-13f;
  p = p * s - 8.60467152213735e-11f;
  p = p * s + 5.12229709037114e-08f;
  p = p * s + 1.48572235717979e-05f;
  p = p * s + 6.37261928875436e-04f;
  p = p * s + 4.89352455891786e-03f;
  float q = 1.19825839466702e-06f;
  q = q * s + 1.18534705686654e-04f;
  q = q * s + 2.26843463243900e-03f;
  q = q * s + 4.89352518554385e-03f;
  const float y = t * p / q;
  const float small = x < 0.0f ? -x : x;
  return small < 0.0004f || x != x ? x : y;
}

WEIR_ALWAYS_INLINE float Sigmoid(float x) { return 1.0f / (1.0f + Exp(-x)); }

// e^x - 1: reduced to [-ln2/2, ln2/2] with ln 2 in two parts, then Cephes' polynomial of e^r. Half of the result is
// computed, so that a power of two is within float's range up to where the result is infinite.
WEIR_ALWAYS_INLINE float Expm1(float x) {
  float t = x < -20.0f ? -20.0f : x;
  t = t > 89.0f ? 89.0f : t;
  const float k = std::floor(t * 1.44269504088896341f + 0.5f);
  const float r = std::fma(-k, -2.12194440e-4f, std::fma(-k, 0.693359375f, t));
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r;
  const float half = PowerOfTwo(static_cast<int32_t>(k == k ? k : 0.0f) - 1);
  const float y = 2.0f * std::fma(p, half, half - 0.5f);
  const float magnitude = x < 0.0f ? -x : x;
  return magnitude < 1e-8f || x != x ? x : y;  // keeps -0 and denormals
}

// Sine and cosine are for |x| up to here: so far the first two parts of a multiple of pi/2 leave nothing out.
constexpr float kTrigonometricLimit = 1e4f;

// sin(x + quarters * pi/2): reduced to [-pi/4, pi/4] with pi/2 in three parts, then Cephes' polynomials.
WEIR_ALWAYS_INLINE float SinOfQuarters(float x, int32_t quarters) {
  const float k = std::floor(x * 0.636619772367581343f + 0.5f);
  float r = std::fma(-k, 1.57079637050628662109375f, x);
  r = std::fma(-k, -4.37113900018624283e-8f, r);
  r = std::fma(-k, -1.71512449809e-15f, r);
  const float z = r * r;
  float sine = -1.9515295891e-4f;
  sine = sine * z + 8.3321608736e-3f;
  sine = sine * z - 1.6666654611e-1f;
  sine = std::fma(sine * z, r, r);
  float cosine = 2.443315711809948e-5f;
  cosine = cosine * z - 1.388731625493765e-3f;
  cosine = cosine * z + 4.166664568298827e-2f;
  cosine = std::fma(cosine * z, z, std::fma(-0.5f, z, 1.0f));
  const int32_t quadrant = static_cast<int32_t>(k) + quarters;
  const float y = (quadrant & 1) != 0 ? cosine : sine;
  return (quadrant & 2) != 0 ? -y : y;
}
WEIR_ALWAYS_INLINE float Sin(float x) { return x == 0.0f ? x : SinOfQuarters(x, 0); }
WEIR_ALWAYS_INLINE float Cos(float x) { return SinOfQuarters(x, 1); }

// The angle of (x, y): the arc tangent of the smaller coordinate over the larger, a polynomial of degree 19, mirrored
// into the octant.
WEIR_ALWAYS_INLINE float Atan2(float y, float x) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float ax = std::fabs(x), ay = std::fabs(y);
  const bool steep = ay > ax;
  const float low = steep ? ax : ay, high = steep ? ay : ax;
  const float quotient = low / (high == 0.0f ? 1.0f : high);
  const float t = low == kInfinity ? 1.0f : quotient, z = t * t;
  float p = -0.0023869972210377455f;
  p = p * z + 0.01350777130573988f;
  p = p * z - 0.035871539264917374f;
  p = p * z + 0.0625016912817955f;
  p = p * z - 0.08656880259513855f;
  p = p * z + 0.11033764481544495f;
  p = p * z - 0.1427856832742691f;
  p = p * z + 0.19999739527702332f;
  p = p * z - 0.3333333134651184f;
  float angle = std::fma(p * z, t, t);
  // What pi and its half lack as floats goes to the smaller operand.
  angle = steep ? 1.57079637050628662f - (angle + 4.37113900018624283e-8f) : angle;
  angle = std::signbit(x) ? 3.14159274101257324f - (angle + 8.74227800037248566e-8f) : angle;
  angle = std::copysign(angle, y);
  return x == x && y == y ? angle : x + y;
}

// --- In double, which leaves float's result within one unit in the last place without further care. ---

// The natural logarithm of 1 + x: the mantissa in [sqrt(1/2), sqrt(2)), the series of 2 artanh((m - 1) / (m + 1)).
WEIR_ALWAYS_INLINE float Log1p(float x) {
  const double v = 1.0 + static_cast<double>(x);
  const int64_t bits = std::bit_cast<int64_t>(v);
  double m = std::bit_cast<double>((bits & 0x000fffffffffffff) | 0x3fe0000000000000);
  double e = static_cast<double>(static_cast<int32_t>(bits >> 52) - 1022);
  const bool low = m < 0.70710678118654752440;
  e = low ? e - 1.0 : e;
  m = low ? m + m : m;
  const double s = (m - 1.0) / (m + 1.0), z = s * s;
  double p = 1.0 / 15;
  p = p * z + 1.0 / 13;
  p = p * z + 1.0 / 11;
  p = p * z + 1.0 / 9;
  p = p * z + 1.0 / 7;
  p = p * z + 1.0 / 5;
  p = p * z + 1.0 / 3;
  p = p * z + 1.0;
  float y = static_cast<float>(2.0 * s * p + e * 0.69314718055994530942);
  const float magnitude = x < 0.0f ? -x : x;
  // Where 1 + x has lost what x had.
  y = magnitude < 1e-5f ? x - 0.5f * x * x : y;
  y = x == std::numeric_limits<float>::infinity() ? x : y;
  y = x == -1.0f ? -std::numeric_limits<float>::infinity() : y;
  y = x < -1.0f ? std::numeric_limits<float>::quiet_NaN() : y;
  return x == x ? y : x;
}

// A rational approximation (13, 8) on [-4, 4], beyond which float's error function is 1.
WEIR_ALWAYS_INLINE float Erf(float x) {
  double t = x < -4.0f ? -4.0 : static_cast<double>(x);
  t = x > 4.0f ? 4.0 : t;
  const double s = t * t;
  double p = -2.72614225801306e-10;
  p = p * s + 2.77068142495902e-08;
  p = p * s - 2.10102402082508e-06;
  p = p * s - 5.69250639462346e-05;
  p = p * s - 7.34990630326855e-04;
  p = p * s - 2.95459980854025e-03;
  p = p * s - 1.60960333262415e-02;
  double q = -1.45660718464996e-05;
  q = q * s - 2.13374055278905e-04;
  q = q * s - 1.68282697438203e-03;
  q = q * s - 7.37332916720468e-03;
  q = q * s - 1.42647390514189e-02;
  const float y = static_cast<float>(t * p / q);
  return x == x ? y : x;
}

// exp(-x^2) times a polynomial of (x - 3.75) / (x + 3.75), of degree 12, for |x|; beyond 10.2 float's result is 0. The
// square of a float is exact.
WEIR_ALWAYS_INLINE float Erfc(float x) {
  double t = x < 0.0f ? -static_cast<double>(x) : static_cast<double>(x);
  t = t > 10.2 ? 10.2 : t;
  const double u = (t - 3.75) / (t + 3.75);
  double p = 1.9860852908352816e-05;
  p = p * u + 6.1003318535567562e-05;
  p = p * u - 1.5400368254383993e-04;
  p = p * u - 3.3041705168757685e-05;
  p = p * u + 1.8005772069542874e-03;
  p = p * u - 8.2193579648924336e-03;
  p = p * u + 2.4143911650910224e-02;
  p = p * u - 5.4802394612503179e-02;
  p = p * u + 1.0260424560148394e-01;
  p = p * u - 1.6357189557038972e-01;
  p = p * u + 2.2600806910819147e-01;
  p = p * u - 2.7342193146058061e-01;
  p = p * u + 1.4558972126325127e-01;
  // Added to a number of this size, an integer is the lowest bits of the sum.
  constexpr double kToBits = 0x1.8p52;
  const double e = -t * t, shifted = e * 1.44269504088896341 + kToBits, k = shifted - kToBits;
  const double r = e - k * 0.693147180559945309;
  double q = 1.0 / 40320;
  q = q * r + 1.0 / 5040;
  q = q * r + 1.0 / 720;
  q = q * r + 1.0 / 120;
  q = q * r + 1.0 / 24;
  q = q * r + 1.0 / 6;
  q = q * r + 0.5;
  q = q * r + 1.0;
  q = q * r + 1.0;
  const double scale = std::bit_cast<double>((std::bit_cast<uint64_t>(shifted) + 1023) << 52);
  const double y = p * q * scale;
  const float result = static_cast<float>(x < 0.0f ? 2.0 - y : y);
  return x == x ? result : x;
}

}  // namespace weir::vector_math
