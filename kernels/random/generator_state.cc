#include "kernels/random/generator_state.h"

#include <algorithm>

#include "core/tensor/index_tensor.h"
#include "kernels/state/variable_access.h"

namespace weir {

absl::Status CheckGeneratorAlgorithm(const Tensor& algorithm) {
  constexpr int64_t kPhilox = 1, kThreeFry = 2;
  if (algorithm.dims() != 0) {
    return errors::InvalidArgument("algorithm must be of shape [], not ", algorithm.shape().ToString());
  }
  ASSIGN_OR_RETURN(const int64_t id, ReadInteger(algorithm, "algorithm"));
  if (id == kThreeFry) return errors::Unimplemented("Non-XLA devices don't support the ThreeFry algorithm.");
  return id == kPhilox ? absl::OkStatus() : errors::InvalidArgument("Unsupported algorithm id: ", id);
}

absl::StatusOr<GeneratorState> AdvanceGenerator(OpKernelContext& ctx, uint64_t groups) {
  ASSIGN_OR_RETURN(std::shared_ptr<Variable> variable, LookupVariable(ctx, 0));
  std::lock_guard<std::mutex> lock(*variable->mutex());
  if (!variable->is_initialized()) return errors::FailedPrecondition("The state of the generator is not initialized");
  Tensor& state = *variable->tensor();
  if (state.dtype() != DT_INT64) {
    return errors::InvalidArgument("dtype of RNG state variable must be int64, not ", DataTypeName(state.dtype()));
  }
  if (state.dims() != 1) {
    return errors::InvalidArgument("RNG state must have one and only one dimension, not ", state.dims());
  }
  if (state.dim_size(0) < kGeneratorWords) {
    return errors::InvalidArgument("For the Philox algorithm, the size of state must be at least ", kGeneratorWords,
                                   "; got ", state.dim_size(0));
  }
  RETURN_IF_ERROR(EnsureExclusive(state, ctx.allocator()));
  int64_t* const words = state.data<int64_t>();
  GeneratorState before;
  std::copy_n(words, kGeneratorWords, before.begin());
  const uint64_t low = static_cast<uint64_t>(words[0]) + groups;
  if (low < groups) words[1] = static_cast<int64_t>(static_cast<uint64_t>(words[1]) + 1);
  words[0] = static_cast<int64_t>(low);
  return before;
}

Philox PhiloxFromState(const GeneratorState& state) {
  const auto low = [](int64_t x) { return static_cast<uint32_t>(x); };
  const auto high = [](int64_t x) { return static_cast<uint32_t>(static_cast<uint64_t>(x) >> 32); };
  return Philox({low(state[0]), high(state[0]), low(state[1]), high(state[1])}, {low(state[2]), high(state[2])});
}

}  // namespace weir
