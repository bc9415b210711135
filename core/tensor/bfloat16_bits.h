// bfloat16 as its bits, for loops over elements that become vector instructions.
#pragma once

#include <bit>
#include <cstdint>

namespace weir {

inline float FloatOfBfloat16Bits(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

// Rounds to the nearest, ties to even. A NaN keeps its sign and becomes quiet; rounding could turn it into infinity.
inline uint16_t Bfloat16BitsOf(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  return static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? ((bits >> 16) & 0x8000) | 0x7fc0 : rounded);
}

}  // namespace weir
