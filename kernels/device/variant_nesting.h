// The limit on the depth of nested variants, which are copied, added and freed level by level.
#pragma once

#include "core/status.h"
#include "core/tensor/tensor.h"

namespace weir {

inline constexpr int kMaxVariantDepth = 256;

// 0 for a tensor of another type, 1 for variants in which there are no others.
int VariantDepth(const Tensor& tensor);

// ResourceExhausted when nothing more may hold `element`.
absl::Status CheckNesting(const Tensor& element);

}  // namespace weir
