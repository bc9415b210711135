// The values of a key that was never pushed.
#pragma once

#include "kernels/embedding/embedding_options.h"

namespace weir {

// Writes `width` values. They depend on the seed and the key alone, so that any task, at any time, gives a key the
// same.
void InitialValues(const EmbeddingOptions& options, int64_t key, float* values);
// Writes `width` numbers for each slot.
void InitialSlots(const EmbeddingOptions& options, float* slots);

}  // namespace weir
