// Sampling from categories by their unnormalised log-probabilities.
#pragma once

#include "core/op_kernel.h"
#include "kernels/random/philox.h"

namespace weir {

// InvalidArgument unless logits is a matrix with at least one class and num_samples a scalar that is not negative,
// which is returned.
absl::StatusOr<int64_t> CheckMultinomial(const Tensor& logits, const Tensor& num_samples);
// Output 0 [batch, samples] holds the classes drawn.
absl::Status ComputeMultinomial(OpKernelContext& ctx, const Tensor& logits, int64_t samples, const Philox& stream);

}  // namespace weir
