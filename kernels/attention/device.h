// Arguments of attention that host code and device code share. For host compilers and for nvcc.
#pragma once

#include "kernels/device/gpu/bodies.h"

namespace weir {

// softmax(q k' scale + mask) v, as kernels/attention/args.h has it; a place is a block of queries of one batch, and
// some columns of its output.
struct AttentionArgs {
  const void* q;
  const void* k;
  const void* v;
  const void* mask;  // may be null
  void* out;
  float* largest;  // of each query's scores; may be null
  float* sums;     // of exponentials of scores less that; null where that is
  StridedLayout q_batch, k_batch, v_batch, mask_batch;
  int64_t queries, keys, depth, columns;
  int64_t q_row, k_key, k_depth, mask_row, mask_key;
  float scale;
  int64_t row_blocks, column_blocks;
  int64_t count;
};
struct alignas(16) FourFloats {
  float x[4];
};

inline constexpr int kAttentionRows = 32;
inline constexpr int kAttentionColumns = 128;

}  // namespace weir
