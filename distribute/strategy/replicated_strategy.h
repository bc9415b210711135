// What strategies with a copy of each variable for each replica have in common.
#pragma once

#include "distribute/strategy/strategy.h"

namespace weir {

// Updates are made once for each replica, on its device, with gradients that AllReduceGradients has made equal.
class ReplicatedStrategy : public Strategy {
 public:
  Operation ApplyGradients(Optimizer& optimizer, const PerReplicaGradients& gradients,
                           const ResourceVariable& global_step, ReduceOp op) override;

 protected:
  ReplicatedStrategy(const weir::Scope& root, Layout layout, VariablePlacement placement);
  // Puts variables on the first device, and copies on the others.
  ReplicatedStrategy(const weir::Scope& root, const Layout& layout)
      : ReplicatedStrategy(root, layout, OnEvery(layout.devices)) {}
  static VariablePlacement OnEvery(const std::vector<std::string>& devices);

  // For each variable of `gradients` the reduced gradient of each replica of this graph. The default adds those of the
  // k-th variable up on the k-th device, in turn.
  virtual std::vector<std::vector<Gradient>> AllReduceGradients(ReduceOp op,
                                                                const std::vector<VariableGradients>& gradients);
};

}  // namespace weir
