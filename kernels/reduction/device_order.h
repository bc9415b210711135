// The interface between host code and device code of the kernels that look along rows, for extremes and running
// totals. For host compilers and for nvcc.
#pragma once

#include "kernels/device/gpu/bodies.h"

namespace weir {

// out[outer, inner] = the first j at which in[outer, j, inner] is extreme.
struct ArgArgs {
  const void* in;
  void* out;
  int64_t length, inner;
  int64_t count;
};
// Running totals of in[outer, j, inner] along j; from the last j on where `reverse`.
struct ScanArgs {
  const void* in;
  void* out;
  bool exclusive, reverse;
  int64_t length, inner;
  int64_t count;
};

}  // namespace weir
