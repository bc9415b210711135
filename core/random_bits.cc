#include "core/random_bits.h"

#include <random>

namespace weir {

uint64_t RandomBits() {
  std::random_device entropy;
  uint64_t bits = 0;
  while (bits == 0) bits = (uint64_t{entropy()} << 32) | entropy();
  return bits;
}

}  // namespace weir
