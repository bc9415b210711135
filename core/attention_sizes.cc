#include "core/attention_sizes.h"

#include "core/matmul_sizes.h"
#include "core/status.h"

namespace weir {
namespace {

// From one element of each dimension of `batch` to the next; `shape` has its matrix behind those.
DimVector BatchSteps(const TensorShape& shape, const DimVector& batch) {
  DimVector steps(batch.size(), 0);
  int64_t step = 1;
  const int rank = shape.dims(), wanted = static_cast<int>(batch.size()) + 2;
  for (int d = rank - 1; d >= 0; --d) {
    const int at = d + wanted - rank;
    if (at < static_cast<int>(batch.size()) && shape.dim_size(d) != 1) steps[at] = step;
    step *= shape.dim_size(d);
  }
  return steps;
}

}  // namespace

absl::StatusOr<AttentionSizes> AttentionSizes::Of(const TensorShape& q, const TensorShape& k, const TensorShape& v,
                                                  const TensorShape* mask, bool transpose_k) {
  ASSIGN_OR_RETURN(const BatchMatMulSizes scores, BatchMatMulSizes::Of(q, k, false, transpose_k, true));
  TensorShape weights = scores.output;
  if (mask != nullptr) {
    ASSIGN_OR_RETURN(const Broadcasting masked, Broadcasting::Of(weights, *mask));
    weights = masked.shape;
  }
  ASSIGN_OR_RETURN(const BatchMatMulSizes mixed, BatchMatMulSizes::Of(weights, v, false, false, true));
  AttentionSizes sizes;
  sizes.output = mixed.output;
  sizes.queries = mixed.product.m;
  sizes.keys = mixed.product.k;
  sizes.columns = mixed.product.n;
  sizes.depth = scores.product.k;
  for (int d = 0; d < mixed.output.dims() - 2; ++d) sizes.batch.push_back(mixed.output.dim_size(d));
  sizes.q_batch = BatchSteps(q, sizes.batch);
  sizes.k_batch = BatchSteps(k, sizes.batch);
  sizes.v_batch = BatchSteps(v, sizes.batch);
  // A single row, or key, stands for all that the mask asks for.
  sizes.q_row = scores.product.m == 1 ? 0 : sizes.depth;
  sizes.k_key = scores.product.n == 1 ? 0 : transpose_k ? sizes.depth : 1;
  sizes.k_depth = transpose_k ? 1 : scores.product.n;
  sizes.mask_batch = DimVector(sizes.batch.size(), 0);
  if (mask != nullptr) {
    const int rank = mask->dims();
    sizes.mask_batch = BatchSteps(*mask, sizes.batch);
    sizes.mask_key = rank < 1 || mask->dim_size(rank - 1) == 1 ? 0 : 1;
    sizes.mask_row = rank < 2 || mask->dim_size(rank - 2) == 1 ? 0 : mask->dim_size(rank - 1);
  }
  return sizes;
}

}  // namespace weir
