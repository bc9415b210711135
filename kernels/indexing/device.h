// Arguments that host code and device code share: kernels that combine rows by index. For host compilers and for nvcc.
#pragma once

#include "kernels/device/gpu/bodies.h"

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
// Rows of `width` elements added up, in order: row places[p] of `out` (p itself where that is null) gets rows
// sources[k], starts[p] <= k < starts[p + 1], each divided by divisors[k] where there are some. The sum is divided by
// how many there are (kCount), or its root.
struct SparseRowsArgs {
  enum class Average { kNone, kCount, kRootOfCount };
  const void* in;
  const int64_t* starts;
  const int64_t* sources;
  const double* divisors;
  const int64_t* places;
  Average average;
  void* out;
  int64_t width;
  int64_t count;
};
// out[i / columns, values[i]] gets weights[i], or 1; what is out of range is left out. With `binary` it is 1
// thereafter.
struct BincountArgs {
  const void* values;
  bool wide_values;
  const void* weights;  // may be null
  bool binary;
  void* out;
  int64_t columns, bins;
  int64_t count;
};
// Adds entry n of a sparse matrix, at [row, column] of op(a), times row `column` of op(b) to row `row` of the sums,
// which are of the type that is computed with. What is out of range is left out.
struct SparseMatMulArgs {
  const void* indices;
  bool wide_indices;
  const void* values;
  const void* b;
  void* sums;
  int64_t rows, inner, columns;
  int64_t b_row_step, b_column_step;
  bool adjoint_a;
  int64_t count;
};

// For sorting entries by their row of op(a), in the order in which they came: that of entry n, or `rows`, one more than
// there are, where it is out of range; and n.
struct SparseKeysArgs {
  const void* indices;
  bool wide_indices;
  bool adjoint_a;
  int64_t rows, inner;
  uint64_t* keys;
  int32_t* order;
  int64_t count;
};
// Place i of the sorted entries gets what entry order[i] is; those out of range, column 0.
struct SparseSortedArgs {
  const void* indices;
  bool wide_indices;
  bool adjoint_a;
  const uint64_t* keys;
  const int32_t* order;
  const void* values;
  int64_t rows;
  int32_t* entry_rows;
  int32_t* entry_columns;
  void* sorted_values;
  int64_t count;
};

}  // namespace weir
