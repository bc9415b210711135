// Arguments of softmax that host code and device code share. For host compilers and for nvcc.
#pragma once

#include "kernels/device/gpu/bodies.h"

namespace weir {

// Rows of `width` logits. `labels` holds a value for each logit, or an index for each row.
struct SoftmaxArgs {
  const void* logits;
  const void* labels;
  bool wide_labels;
  const void* maxima;  // of each row, as it is stored
  void* sums;          // float or double, of the exponentials of each row
  void* out;           // a value for each logit
  void* losses;        // for each row
  int64_t width;
  int64_t count;
};

}  // namespace weir
