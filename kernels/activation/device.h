// Arguments of the L2 loss that host code and device code share. For host compilers and for nvcc.
#pragma once

#include "kernels/device/gpu/bodies.h"

namespace weir {

// Half the sum of squares, in two steps: `parts` sums, each of every parts-th element, and then theirs.
struct SquaresArgs {
  const void* in;
  void* partial;  // of the type that is computed with
  void* out;
  int64_t length, parts;
  int64_t count;
};

}  // namespace weir
