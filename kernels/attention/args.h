// Shapes of scaled dot-product attention, checked; for the kernels of all devices.
#pragma once

#include <optional>
#include <vector>

#include "core/tensor/tensor_shape.h"

namespace weir {

// softmax(q k' scale + mask) v of batches of matrices that broadcast, as BatchMatMulV2 and AddV2 have it: a mask may
// add to the dimensions of the scores. All tensors are dense. Steps are in elements, and 0 where a tensor is broadcast.
struct AttentionSizes {
  // `mask` may be null. k holds a row for each key, or, without `transpose_k`, a column. InvalidArgument where shapes
  // do not fit.
  static absl::StatusOr<AttentionSizes> Of(const TensorShape& q, const TensorShape& k, const TensorShape& v,
                                           const TensorShape* mask, bool transpose_k);

  // Of q k' + mask.
  static absl::StatusOr<TensorShape> ScoresOf(const TensorShape& q, const TensorShape& k, const TensorShape* mask,
                                              bool transpose_k);

  TensorShape output;      // the batch, and [queries, columns]
  TensorShape statistics;  // the batch, and [queries]
  int64_t queries = 0, keys = 0, depth = 0, columns = 0;
  DimVector batch;  // outermost first
  DimVector q_batch, k_batch, v_batch, mask_batch;
  int64_t q_row = 0, k_key = 0, k_depth = 0, mask_row = 0, mask_key = 0;
};

// What its gradients look like. Scores that broadcast (as a mask adds dimensions, or values do) have gradients that are
// summed up or not, as the graph does.
struct AttentionGradientSizes {
  struct Inputs {
    TensorShape q, k, v;
    std::optional<TensorShape> mask;
    TensorShape output, largest, sum, gradient;
  };
  // `sums_weights`: over the batches that only the values have; `sums_scores`: over what only the mask has.
  // InvalidArgument where shapes do not fit.
  static absl::StatusOr<AttentionGradientSizes> Of(const Inputs& inputs, bool transpose_k, bool sums_weights,
                                                   bool sums_scores);

  // Items of the forward batch that add to item `i` of dq and dk, in order.
  std::vector<int64_t> ItemsOf(int64_t i) const;
  int64_t num_items() const;  // of dq and dk

  AttentionSizes forward;
  TensorShape dq, dk, dv;
  DimVector batch;                // of dq and dk: as forward.batch, but 1 where items are summed up
  int64_t queries = 0, keys = 0;  // rows of dq, and what dk has of keys: 1 where one stood for all
};

}  // namespace weir
