// The streams of stateless random ops.
#pragma once

#include "core/kernel/op_kernel.h"
#include "kernels/random/philox.h"

namespace weir {

// Mixes the two seeds of `seed`, an integer vector of two, so that neither has to be a strong one.
absl::StatusOr<Philox> PhiloxFromSeed(const Tensor& seed);
// From inputs key, counter and alg.
absl::StatusOr<Philox> PhiloxFromKeyAndCounter(const Tensor& key, const Tensor& counter, const Tensor& algorithm);

}  // namespace weir
