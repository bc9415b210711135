// Base class of strategies with a copy of each variable per replica.
#pragma once

#include "client/strategy/collective_reduction.h"
#include "client/strategy/strategy.h"

namespace weir {

// Each replica updates its own copies, on its device, with gradients that AllReduceGradients has made equal.
class ReplicatedStrategy : public Strategy {
 public:
  Operation ApplyGradients(Optimizer& optimizer, const PerReplicaGradients& gradients,
                           const ResourceVariable& global_step, ReduceOp op) override;

 protected:
  // Variables are on the first device of this graph, copies on the others.
  explicit ReplicatedStrategy(const weir::Scope& root, const Layout& layout, InitialValue initial_value = nullptr);
  // One scope on each replica's device.
  std::vector<weir::Scope> OnEvery(absl::string_view name) const;

  // The reduced gradient of each of the `gradients`' variables, for each replica of this graph. The default sums those
  // of the k-th variable on the k-th device, in turn.
  virtual std::vector<std::vector<Gradient>> AllReduceGradients(ReduceOp op,
                                                                const std::vector<VariableGradients>& gradients);
  // The same by collectives of all replicas.
  std::vector<std::vector<Gradient>> AllReduceGradientsBy(CollectiveReduction& collectives, ReduceOp op,
                                                          const std::vector<VariableGradients>& gradients) const;
};

}  // namespace weir
