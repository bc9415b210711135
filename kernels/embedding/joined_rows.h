// Rows of several shards as one.
#pragma once

#include <vector>

#include "core/kernel/op_kernel.h"
#include "kernels/embedding/embedding_shard.h"

namespace weir {

// Sets outputs 0 to 5 (keys, values, slots, versions, freqs, used) and 6 (removed). There is at least one shard.
absl::Status SetJoinedRows(OpKernelContext& ctx, std::vector<EmbeddingRows> shards);

// Inputs `first` to `first` + 5, of the same order.
EmbeddingRows RowsInput(const OpKernelContext& ctx, int first);

}  // namespace weir
