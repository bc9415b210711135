// How regrouping changes the shapes of elements.
#pragma once

#include "client/function_builder.h"

namespace weir {

// With a first dimension of `size`; -1: unknown.
TensorSpecs Batched(const TensorSpecs& element, int64_t size);
// Without the first dimension.
TensorSpecs Unbatched(const TensorSpecs& batch);

}  // namespace weir
