// Arguments of attention's gradient that host code and device code share. For host compilers and for nvcc.
#pragma once

#include "kernels/attention/device.h"

namespace weir {

// Rows of a matrix.
struct AttentionOperand {
  const void* data;
  int64_t row, column;  // steps
};

// As StridedLayout, of fewer dimensions: arguments of kernels are few bytes.
inline constexpr int kMaxItemRank = 4;
struct ItemLayout {
  int rank = 0;
  int64_t sizes[kMaxItemRank] = {};
  int64_t steps[kMaxItemRank] = {};
};

// The gradient of one operand: of queries or keys by products of gradients of scores with the other, or of values by
// products of weights with the gradient of the output. `own` rows, in tiles, are those of the result; `other` rows are
// gone through. A place is a block of rows, and some columns, of one of the result's items.
struct AttentionGradientArgs {
  AttentionOperand own, other;                        // whose products, over `depth`, are scores
  AttentionOperand own_value, other_value;            // whose products, over `columns`, are gradients of weights
  StridedLayout own_batch, other_batch, value_batch;  // of the values; the gradient of the output is dense
  const void* mask;                                   // may be null
  StridedLayout mask_batch;
  int64_t mask_own, mask_other;
  const float* largest;  // of each query of each item, as are sums and dots
  const float* sums;
  const float* dots;  // of the output and its gradient
  void* out;
  int64_t out_item, out_row, out_column;
  ItemLayout kept, summed;  // the items that are for an item of the result, and how many
  int64_t num_summed;
  int64_t own_rows, repeats;  // a single row that stands for several is that many
  int64_t other_rows, depth, columns, width;
  int64_t queries;
  float scale;
  int64_t row_blocks, column_blocks;
  int64_t count;
};
inline constexpr int kAttentionGradientRows = 32;
inline constexpr int kAttentionGradientColumns = 128;

// dots[i] = the product of row i of two matrices.
struct AttentionDotsArgs {
  const void* a;
  const void* b;
  float* dots;
  int64_t columns;
  int64_t count;
};

// out = largest + log(sum), for each query.
struct AttentionLogSumsArgs {
  const float* largest;
  const float* sums;
  float* out;
  int64_t count;
};

}  // namespace weir
