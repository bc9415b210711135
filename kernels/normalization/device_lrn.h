// Arguments of local response normalisation that host code and device code share. For host compilers and for nvcc.
#pragma once

#include "kernels/device/gpu/bodies.h"

namespace weir {

// Local response normalisation of rows of `width` channels. Norms, in float, are bias + alpha * the sum of the squares
// at most `radius` away.
struct LrnArgs {
  const void* in;
  const void* out;       // of the forward op
  const void* gradient;  // of the output
  float* norms;
  void* result;
  int64_t width, radius;
  float bias, alpha, beta;
  int64_t count;
};

}  // namespace weir
