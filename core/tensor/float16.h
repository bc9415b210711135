// Conversion between arrays of 16-bit floats and float.
#pragma once

#include <cstdint>

#include "core/tensor/types.h"

namespace weir {

// Rounds to nearest even; NaN stays NaN. `in` and `out` do not overlap.
void ToFloats(const half* in, float* out, int64_t n);
void ToFloats(const bfloat16* in, float* out, int64_t n);
void FromFloats(const float* in, half* out, int64_t n);
void FromFloats(const float* in, bfloat16* out, int64_t n);

}  // namespace weir
