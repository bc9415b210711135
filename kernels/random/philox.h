// The counter-based generator Philox 4x32 with 10 rounds (Salmon and others, 2011), and the distributions that random
// kernels draw from it. Bits, order and arithmetic are TensorFlow's: equal seeds give equal numbers.
#pragma once

#include <array>
#include <cstdint>

#include "core/tensor/numeric_types.h"

namespace weir {

// A stream of groups of four 32-bit numbers. A value: copies continue independently.
class Philox {
 public:
  using Group = std::array<uint32_t, 4>;
  using Key = std::array<uint32_t, 2>;

  Philox() = default;
  explicit Philox(uint64_t seed) : key_{Low(seed), High(seed)} {}
  Philox(uint64_t seed, uint64_t stream) : counter_{0, 0, Low(stream), High(stream)}, key_{Low(seed), High(seed)} {}
  Philox(const Group& counter, const Key& key) : counter_(counter), key_(key) {}

  const Group& counter() const { return counter_; }
  const Key& key() const { return key_; }
  // Passes over `groups` groups.
  void Skip(uint64_t groups);
  Group Next();

 private:
  static uint32_t Low(uint64_t x) { return static_cast<uint32_t>(x); }
  static uint32_t High(uint64_t x) { return static_cast<uint32_t>(x >> 32); }

  Group counter_{};
  Key key_{};
};

// Uniform in [0, 1): the top bits of each word as a mantissa in [1, 2), less one.
float UniformFloat(uint32_t bits);
double UniformDouble(uint32_t high, uint32_t low);
half UniformHalf(uint32_t bits);
bfloat16 UniformBFloat16(uint32_t bits);

// Two independent standard normal numbers (Box and Muller).
void NormalFloats(uint32_t a, uint32_t b, float* x, float* y);
void NormalDoubles(uint32_t a0, uint32_t a1, uint32_t b0, uint32_t b1, double* x, double* y);

}  // namespace weir
