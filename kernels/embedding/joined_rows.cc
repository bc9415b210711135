#include "kernels/embedding/joined_rows.h"

#include <cstring>

namespace weir {
namespace {

absl::Status Join(OpKernelContext& ctx, int output, std::vector<EmbeddingRows>& shards, Tensor EmbeddingRows::*part) {
  TensorShape shape = (shards[0].*part).shape();
  int64_t rows = 0;
  for (const EmbeddingRows& shard : shards) rows += (shard.*part).dim_size(0);
  RETURN_IF_ERROR(shape.SetDim(0, rows));
  ASSIGN_OR_RETURN(Tensor * joined, ctx.allocate_output(output, shape));
  char* to = static_cast<char*>(joined->raw_data());
  for (EmbeddingRows& shard : shards) {
    Tensor from = std::move(shard.*part);
    if (from.TotalBytes() > 0) std::memcpy(to, from.raw_data(), from.TotalBytes());
    to += from.TotalBytes();
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status SetJoinedRows(OpKernelContext& ctx, std::vector<EmbeddingRows> shards) {
  Tensor EmbeddingRows::*const parts[] = {&EmbeddingRows::keys,     &EmbeddingRows::values, &EmbeddingRows::slots,
                                          &EmbeddingRows::versions, &EmbeddingRows::freqs,  &EmbeddingRows::used};
  for (int i = 0; i < 6; ++i) RETURN_IF_ERROR(Join(ctx, i, shards, parts[i]));
  std::vector<int64_t> removed;
  for (const EmbeddingRows& rows : shards) removed.insert(removed.end(), rows.removed.begin(), rows.removed.end());
  ctx.set_output(6, Tensor::Vector<int64_t>(removed));
  return absl::OkStatus();
}

EmbeddingRows RowsInput(const OpKernelContext& ctx, int first) {
  return {.keys = ctx.input(first),
          .values = ctx.input(first + 1),
          .slots = ctx.input(first + 2),
          .versions = ctx.input(first + 3),
          .freqs = ctx.input(first + 4),
          .used = ctx.input(first + 5),
          .removed = {}};
}

}  // namespace weir
