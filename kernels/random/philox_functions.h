// The arithmetic of philox.h, on whatever device. For host compilers and for nvcc. Files that include it are compiled
// without contraction of multiplications and additions.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/device/device_code.h"

namespace weir::philox {

// Passes over `groups` groups.
WEIR_DEVICE_CODE inline void Skip(uint32_t* counter, uint64_t groups) {
  const uint64_t low = (static_cast<uint64_t>(counter[1]) << 32 | counter[0]) + groups;
  const bool carry = low < groups;
  counter[0] = static_cast<uint32_t>(low);
  counter[1] = static_cast<uint32_t>(low >> 32);
  if (carry && ++counter[2] == 0) ++counter[3];
}

// The four words that stand at `counter`.
WEIR_DEVICE_CODE inline void ComputeGroup(const uint32_t* counter, const uint32_t* key, uint32_t* words) {
  uint32_t x0 = counter[0], x1 = counter[1], x2 = counter[2], x3 = counter[3], key0 = key[0], key1 = key[1];
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53} * x0, product1 = uint64_t{0xCD9E8D57} * x2;
    x0 = static_cast<uint32_t>(product1 >> 32) ^ x1 ^ key0;
    x2 = static_cast<uint32_t>(product0 >> 32) ^ x3 ^ key1;
    x1 = static_cast<uint32_t>(product1);
    x3 = static_cast<uint32_t>(product0);
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  words[0] = x0;
  words[1] = x1;
  words[2] = x2;
  words[3] = x3;
}

WEIR_DEVICE_CODE inline float UniformFloat(uint32_t bits) {
  return std::bit_cast<float>((bits & 0x7fffffu) | (127u << 23)) - 1.0f;
}
WEIR_DEVICE_CODE inline double UniformDouble(uint32_t high, uint32_t low) {
  const uint64_t mantissa = static_cast<uint64_t>(high & 0xfffffu) << 32 | low;
  return std::bit_cast<double>(mantissa | (uint64_t{1023} << 52)) - 1.0;
}
// As floats, which 16 bits hold without rounding.
WEIR_DEVICE_CODE inline float UniformHalf(uint32_t bits) { return static_cast<float>(bits & 0x3ffu) / 1024.0f; }
WEIR_DEVICE_CODE inline float UniformBfloat16(uint32_t bits) { return static_cast<float>(bits & 0x7fu) / 128.0f; }

inline constexpr double kTwoPi = 6.283185307179586;

WEIR_DEVICE_CODE inline void NormalFloats(uint32_t a, uint32_t b, float* x, float* y) {
  constexpr float kLeast = 1.0e-7f;  // keeps the logarithm finite
  const float u = std::max(UniformFloat(a), kLeast);
  const float angle = static_cast<float>(kTwoPi * UniformFloat(b));
  const float radius = std::sqrt(-2.0f * std::log(u));
  *x = std::sin(angle) * radius;
  *y = std::cos(angle) * radius;
}

WEIR_DEVICE_CODE inline void NormalDoubles(uint32_t a0, uint32_t a1, uint32_t b0, uint32_t b1, double* x, double* y) {
  constexpr double kLeast = 1.0e-7;
  const double u = std::max(UniformDouble(a0, a1), kLeast);
  const double angle = kTwoPi * UniformDouble(b0, b1);
  const double radius = std::sqrt(-2.0 * std::log(u));
  *x = std::sin(angle) * radius;
  *y = std::cos(angle) * radius;
}

}  // namespace weir::philox
