// What the two halves of the kernels that combine rows by index agree on. For host compilers and for nvcc.
#pragma once

#include "kernels/cuda/bodies.h"

namespace weir {

// Slices of `width` elements that `depth` coordinates name are combined with rows of updates, or with one scalar. Rows
// of which a coordinate is out of range are left out. Those that name the same slice come in no order.
struct ScatterArgs {
  void* target;
  const void* indices;
  bool wide_indices;
  const void* updates;
  bool scalar_update;
  int depth;
  int64_t sizes[kMaxBodyRank];  // of the dimensions that are indexed
  int64_t width;
  int64_t count;
};
// Rows of `width` elements from starts[s] to starts[s + 1] are folded, in order, into row s. A segment without rows is
// 0, or 1 of a product.
struct SegmentArgs {
  const void* in;
  const int64_t* starts;
  void* out;
  int64_t width;
  int64_t count;
};

}  // namespace weir
