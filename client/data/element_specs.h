// Shapes of regrouped elements.
#pragma once

#include "client/function_builder.h"

namespace weir {

// Adds a first dimension of `size`; -1: unknown.
TensorSpecs Batched(const TensorSpecs& element, int64_t size);
// Removes the first dimension.
TensorSpecs Unbatched(const TensorSpecs& batch);

}  // namespace weir
