#include "kernels/attention/args.h"

#include "core/status.h"
#include "kernels/linalg/matmul/args.h"

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

// The batch dimensions of `of`, then `dims`.
absl::StatusOr<TensorShape> BatchAnd(const TensorShape& of, std::initializer_list<int64_t> dims) {
  TensorShape shape;
  for (int d = 0; d < of.dims() - 2; ++d) RETURN_IF_ERROR(shape.AddDim(of.dim_size(d)));
  for (const int64_t size : dims) RETURN_IF_ERROR(shape.AddDim(size));
  return shape;
}

}  // namespace

absl::StatusOr<TensorShape> AttentionSizes::ScoresOf(const TensorShape& q, const TensorShape& k,
                                                     const TensorShape* mask, bool transpose_k) {
  ASSIGN_OR_RETURN(const BatchMatMulSizes scores, BatchMatMulSizes::Of(q, k, false, transpose_k, true));
  if (mask == nullptr) return scores.output;
  ASSIGN_OR_RETURN(const Broadcasting masked, Broadcasting::Of(scores.output, *mask));
  return masked.shape;
}

absl::StatusOr<AttentionSizes> AttentionSizes::Of(const TensorShape& q, const TensorShape& k, const TensorShape& v,
                                                  const TensorShape* mask, bool transpose_k) {
  ASSIGN_OR_RETURN(const BatchMatMulSizes scores, BatchMatMulSizes::Of(q, k, false, transpose_k, true));
  ASSIGN_OR_RETURN(const TensorShape weights, ScoresOf(q, k, mask, transpose_k));
  ASSIGN_OR_RETURN(const BatchMatMulSizes mixed, BatchMatMulSizes::Of(weights, v, false, false, true));
  AttentionSizes sizes;
  sizes.output = mixed.output;
  ASSIGN_OR_RETURN(sizes.statistics, BatchAnd(mixed.output, {mixed.product.m}));
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

absl::StatusOr<AttentionGradientSizes> AttentionGradientSizes::Of(const Inputs& in, bool transpose_k, bool sums_weights,
                                                                  bool sums_scores) {
  AttentionGradientSizes sizes;
  const TensorShape* const mask = in.mask.has_value() ? &*in.mask : nullptr;
  ASSIGN_OR_RETURN(sizes.forward, AttentionSizes::Of(in.q, in.k, in.v, mask, transpose_k));
  const AttentionSizes& forward = sizes.forward;
  if (in.output != forward.output || in.gradient != forward.output || in.largest != forward.statistics ||
      in.sum != forward.statistics) {
    return errors::InvalidArgument("an attention of shape ", forward.output.ToString(), " with statistics of shape ",
                                   forward.statistics.ToString(), " has no gradient of an output of shape ",
                                   in.output.ToString(), " with statistics of shapes ", in.largest.ToString(), " and ",
                                   in.sum.ToString(), " from one of shape ", in.gradient.ToString());
  }
  ASSIGN_OR_RETURN(const TensorShape product, AttentionSizes::ScoresOf(in.q, in.k, nullptr, transpose_k));
  ASSIGN_OR_RETURN(const TensorShape weights, AttentionSizes::ScoresOf(in.q, in.k, mask, transpose_k));
  const TensorShape own = sums_scores ? product : sums_weights ? weights : forward.output;
  const int64_t m = product.dim_size(product.dims() - 2), n = product.dim_size(product.dims() - 1);
  ASSIGN_OR_RETURN(const TensorShape weights_batch, BatchAnd(weights, {}));
  ASSIGN_OR_RETURN(const TensorShape output_batch, BatchAnd(forward.output, {}));
  const bool fits =
      sums_scores ? sums_weights || weights_batch == output_batch : m == forward.queries && n == forward.keys;
  if (!fits) {
    return errors::InvalidArgument("scores of shape ", product.ToString(), ", with the mask ", weights.ToString(),
                                   ", in an attention of shape ", forward.output.ToString(),
                                   " broadcast, and their gradients are not summed up");
  }
  sizes.queries = sums_scores ? m : forward.queries;
  sizes.keys = sums_scores ? n : forward.keys;
  ASSIGN_OR_RETURN(sizes.dq, BatchAnd(own, {sizes.queries, forward.depth}));
  ASSIGN_OR_RETURN(
      sizes.dk, transpose_k ? BatchAnd(own, {sizes.keys, forward.depth}) : BatchAnd(own, {forward.depth, sizes.keys}));
  ASSIGN_OR_RETURN(sizes.dv, BatchAnd(forward.output, {forward.keys, forward.columns}));
  const int rank = static_cast<int>(forward.batch.size()), missing = rank - (own.dims() - 2);
  for (int d = 0; d < rank; ++d) sizes.batch.push_back(d < missing ? 1 : own.dim_size(d - missing));
  return sizes;
}

int64_t AttentionGradientSizes::num_items() const {
  int64_t items = 1;
  for (const int64_t size : batch) items *= size;
  return items;
}

std::vector<int64_t> AttentionGradientSizes::ItemsOf(int64_t i) const {
  std::vector<int64_t> items = {0};
  int64_t step = 1;  // in the forward batch
  for (int d = static_cast<int>(batch.size()) - 1; d >= 0; --d) {
    const int64_t at = i % batch[d];
    i /= batch[d];
    const bool is_summed = batch[d] != forward.batch[d];
    const size_t count = items.size();
    for (int64_t j = is_summed ? 1 : 0; is_summed && j < forward.batch[d]; ++j) {
      for (size_t k = 0; k < count; ++k) items.push_back(items[k] + j * step);
    }
    for (size_t k = 0; !is_summed && k < count; ++k) items[k] += at * step;
    step *= forward.batch[d];
  }
  return items;
}

}  // namespace weir
