// Arguments of pooling that host code and device code share. For host compilers and for nvcc.
#pragma once

#include "kernels/convolution/device.h"

namespace weir {

struct PoolArgs {
  const void* in;
  const void* gradient;  // of the output
  void* result;          // a place for each of its elements
  int64_t channels;
  bool channels_first;
  WindowPlan rows, columns;
  int64_t count;
};

}  // namespace weir
