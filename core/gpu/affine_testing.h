// The kernel of the conformance suite, for host compilers and for nvcc.
#pragma once

#include <cstdint>

namespace weir {

// data[i] = data[i] * factor + addend, each element `rounds` times over.
struct AffineArgs {
  float* data = nullptr;
  int64_t count = 0;
  float factor = 1, addend = 0;
  int rounds = 1;
};

}  // namespace weir
