// Philox by the block: many groups at a time, by vector instructions.
#pragma once

#include <cstdint>

#include "kernels/random/philox.h"

namespace weir {

// The words of the stream's next `groups` groups, as that many calls of Next() give them.
void NextGroups(Philox* stream, int64_t groups, uint32_t* words);
// out[i] = UniformFloat(words[i])
void UniformFloats(const uint32_t* words, int64_t n, float* out);

}  // namespace weir
