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
// The same by sorting: a key for each element, by which rows (from `row_shift` on, where rows are sorted together) come
// one behind the other and the largest first in each, and its column; then the first k of each row, by their columns.
struct TopSortArgs {
  const void* in;
  uint64_t* keys;
  int32_t* columns;
  int row_shift;  // 0: rows are sorted one by one
  void* values;
  void* indices;
  int64_t width, k;
  int64_t count;
};

}  // namespace weir
