// The shapes of scaled dot-product attention, on whatever device.
#pragma once

#include "core/tensor_shape.h"

namespace weir {

// softmax(q k' scale + mask) v of batches of matrices that broadcast, as BatchMatMulV2 and AddV2 have it: a mask may
// add to the dimensions of the scores. All tensors are dense. Steps are in elements, and 0 where a tensor is broadcast.
struct AttentionSizes {
  // `mask` may be null. k holds a row for each key, or, without `transpose_k`, a column. InvalidArgument where shapes
  // do not fit.
  static absl::StatusOr<AttentionSizes> Of(const TensorShape& q, const TensorShape& k, const TensorShape& v,
                                           const TensorShape* mask, bool transpose_k);

  TensorShape output;  // the batch, and [queries, columns]
  int64_t queries = 0, keys = 0, depth = 0, columns = 0;
  DimVector batch;  // outermost first
  DimVector q_batch, k_batch, v_batch, mask_batch;
  int64_t q_row = 0, k_key = 0, k_depth = 0, mask_row = 0, mask_key = 0;
};

}  // namespace weir
