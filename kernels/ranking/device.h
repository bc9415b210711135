// Arguments of TopK that host code and device code share. For host compilers and for nvcc.
#pragma once

#include "kernels/device/gpu/bodies.h"

namespace weir {

// The k largest of each row of `width` elements, largest first.
struct TopArgs {
  const void* in;
  void* values;
  void* indices;
  int64_t width, k;
  int64_t count;
};
// The same by sorting. Each element gets a key, whose bits from `row_shift` on are its row if rows are sorted together,
// and its column. Sorted keys put the largest element of each row first; the first k columns of a row are its results.
struct TopSortArgs {
  const void* in;
  uint64_t* keys;
  int32_t* columns;
  int row_shift;  // 0 if rows are sorted one by one
  void* values;
  void* indices;
  int64_t width, k;
  int64_t count;
};

}  // namespace weir
