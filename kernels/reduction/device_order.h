// What the two halves of the kernels that look along rows, for extremes and running totals, agree on. For host
// compilers and for nvcc.
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
// Running totals of in[outer, j, inner] along j; from the last j on where `reverse`.
struct ScanArgs {
  const void* in;
  void* out;
  bool exclusive, reverse;
  int64_t length, inner;
  int64_t count;
};
// Half the sum of squares, in two steps: `parts` sums, each of every parts-th element, and then theirs.
struct SquaresArgs {
  const void* in;
  void* partial;  // of the type that is computed with
  void* out;
  int64_t length, parts;
  int64_t count;
};

}  // namespace weir
