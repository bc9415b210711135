#include "client/strategy/worker_tokens.h"

#include "client/ops.h"

namespace weir {

WorkerTokens::WorkerTokens(const Scope& scope, const std::string& shared_prefix, int num_workers) {
  for (int i = 0; i < num_workers; ++i) {
    queues_.push_back(
        ops::FIFOQueueV2(scope.WithName("tokens"), {DT_BOOL},
                         {.shapes = {TensorShape()}, .shared_name = absl::StrCat(shared_prefix, "tokens_", i)}));
  }
}

Operation WorkerTokens::Take(const Scope& scope, int worker) const {
  const OutputList token = ops::QueueDequeueV2(scope, queues_[worker], {DT_BOOL});
  return token.empty() ? Operation() : token[0].op();
}

Operation WorkerTokens::Return(const Scope& scope, int worker) const {
  const Output& queue = queues_[worker];
  const Output missing = ops::Maximum(scope, ops::Sub(scope, 1, ops::QueueSizeV2(scope, queue)), 0);
  const Output count = ops::Reshape(scope, missing, Tensor::Vector<int32_t>({1}));
  return ops::QueueEnqueueManyV2(scope, queue, {ops::Fill(scope, count, scope.Constant(true))});
}

Operation WorkerTokens::Refill(const Scope& scope) const {
  std::vector<Operation> all;
  for (size_t i = 0; i < queues_.size(); ++i) all.push_back(Return(scope, static_cast<int>(i)));
  return ops::NoOp(scope.WithControlDependencies(all).WithName("refilled"));
}

}  // namespace weir
