#include "kernels/random/philox.h"

#include "kernels/random/philox_functions.h"

namespace weir {

void Philox::Skip(uint64_t groups) { philox::Skip(counter_.data(), groups); }

Philox::Group Philox::Next() {
  Group words;
  philox::ComputeGroup(counter_.data(), key_.data(), words.data());
  Skip(1);
  return words;
}

float UniformFloat(uint32_t bits) { return philox::UniformFloat(bits); }

double UniformDouble(uint32_t high, uint32_t low) { return philox::UniformDouble(high, low); }

half UniformHalf(uint32_t bits) { return static_cast<half>(philox::UniformHalf(bits)); }

bfloat16 UniformBFloat16(uint32_t bits) { return static_cast<bfloat16>(philox::UniformBfloat16(bits)); }

void NormalFloats(uint32_t a, uint32_t b, float* x, float* y) { philox::NormalFloats(a, b, x, y); }

void NormalDoubles(uint32_t a0, uint32_t a1, uint32_t b0, uint32_t b1, double* x, double* y) {
  philox::NormalDoubles(a0, a1, b0, b1, x, y);
}

}  // namespace weir
