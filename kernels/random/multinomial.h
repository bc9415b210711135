// Samples from categories, on any device.
#pragma once

#include "core/kernel/op_kernel.h"

namespace weir {

// InvalidArgument unless logits is a matrix with at least one class and num_samples a scalar that is not negative,
// which is returned.
absl::StatusOr<int64_t> CheckMultinomial(const Tensor& logits, const Tensor& num_samples);

// Groups of random numbers that a run of the stateful op sets aside for `batch` rows of samples.
uint64_t MultinomialGroups(int64_t batch, int64_t samples);

}  // namespace weir
