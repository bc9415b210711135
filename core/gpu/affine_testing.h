// The kernel of the conformance suite, compiled by host compilers and nvcc.
#pragma once

#include <cstdint>

namespace weir {

// Applies data[i] = data[i] * factor + addend `rounds` times to each element.
struct AffineArgs {
  float* data = nullptr;
  int64_t count = 0;
  float factor = 1, addend = 0;
  int rounds = 1;
};

}  // namespace weir
