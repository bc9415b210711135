// The state of tf.random.Generator: a variable that each draw moves on.
#pragma once

#include <array>

#include "core/kernel/op_kernel.h"
#include "kernels/random/random_stream.h"

namespace weir {

// The state of Philox: a counter of 128 bits, then the key.
inline constexpr int64_t kGeneratorWords = 3;
using GeneratorState = std::array<int64_t, kGeneratorWords>;

// InvalidArgument unless the tensor names Philox.
absl::Status CheckGeneratorAlgorithm(const Tensor& algorithm);
// Moves the state of the generator in resource input 0 on by `groups`; gives what it was.
absl::StatusOr<GeneratorState> AdvanceGenerator(OpKernelContext& ctx, uint64_t groups);
Philox PhiloxFromState(const GeneratorState& state);

}  // namespace weir
