// The arguments of fake quantisation, on whatever device: checked in TensorFlow's words.
#pragma once

#include "core/kernel/op_kernel.h"

namespace weir {

struct QuantAttrs {
  absl::Status Read(OpKernelConstruction& ctx);
  int64_t bits = 8;
  bool narrow = false;
  float low = -6, high = 6;  // where the op has them as attributes
};

// Inputs from `first` on: what is quantised, and the ends of its range, or those of each element of its last dimension;
// input 0 is the gradient where `first` is not. Gives how many ranges there are.
absl::StatusOr<int64_t> CheckQuantRange(OpKernelContext& ctx, int first, bool per_channel);

}  // namespace weir
