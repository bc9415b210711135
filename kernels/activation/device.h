// Arguments of the L2 loss that host code and device code share. For host compilers and for nvcc.
#pragma once

#include "kernels/device/gpu/bodies.h"

namespace weir {

// Half the sum of squares in two steps: `parts` sums of every parts-th element, then the sum of those sums.
struct SquaresArgs {
  const void* in;
  void* partial;  // of the type in which sums are computed
  void* out;
  int64_t length, parts;
  int64_t count;
};

}  // namespace weir
