// The values of a key that was never pushed.
#pragma once

#include "kernels/embedding/embedding_options.h"

namespace weir {

// Writes `width` values. They depend on the seed and the key alone, so that any task, at any time, gives a key the
// same.
void InitialValues(const EmbeddingOptions& options, int64_t key, float* values);
// The values, and behind them the slots.
void InitialRow(const EmbeddingOptions& options, int64_t key, float* row);

}  // namespace weir
