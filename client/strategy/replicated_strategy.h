// What strategies with a copy of each variable for each replica have in common.
#pragma once

#include "client/strategy/collective_reduction.h"
#include "client/strategy/strategy.h"

namespace weir {

// Updates are made once for each replica, on its device, with gradients that AllReduceGradients has made equal.
class ReplicatedStrategy : public Strategy {
 public:
  Operation ApplyGradients(Optimizer& optimizer, const PerReplicaGradients& gradients,
                           const ResourceVariable& global_step, ReduceOp op) override;

 protected:
  // Variables go to the first device of this graph, copies to the others.
  explicit ReplicatedStrategy(const weir::Scope& root, const Layout& layout, InitialValue initial_value = nullptr);
  // A scope on each replica's device.
  std::vector<weir::Scope> OnEvery(absl::string_view name) const;

  // For each variable of `gradients` the reduced gradient of each replica of this graph. The default adds those of the
  // k-th variable up on the k-th device, in turn.
  virtual std::vector<std::vector<Gradient>> AllReduceGradients(ReduceOp op,
                                                                const std::vector<VariableGradients>& gradients);
  // The same by collectives of all replicas.
  std::vector<std::vector<Gradient>> AllReduceGradientsBy(CollectiveReduction& collectives, ReduceOp op,
                                                          const std::vector<VariableGradients>& gradients) const;
};

}  // namespace weir
