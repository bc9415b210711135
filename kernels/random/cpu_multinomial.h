// Sampling from categories by their unnormalised log-probabilities.
#pragma once

#include "core/kernel/op_kernel.h"
#include "kernels/random/multinomial.h"
#include "kernels/random/philox.h"

namespace weir {

// Output 0 [batch, samples] holds the classes drawn.
absl::Status ComputeMultinomial(OpKernelContext& ctx, const Tensor& logits, int64_t samples, const Philox& stream);

}  // namespace weir
