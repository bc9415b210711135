// Base class of strategies whose replicas share one copy of each variable and step together.
#pragma once

#include "client/strategy/strategy.h"

namespace weir {

// Gradients are reduced on the device of their variable, which is updated once.
class SharedVariablesStrategy : public Strategy {
 public:
  SharedVariablesStrategy(const weir::Scope& root, Layout layout, VariablePlacement placement)
      : Strategy(root, std::move(layout), std::move(placement)) {}

  static Layout LayoutOf(std::string name, const std::vector<std::string>& devices);

  Operation ApplyGradients(Optimizer& optimizer, const PerReplicaGradients& gradients,
                           const ResourceVariable& global_step, ReduceOp op) override;
};

}  // namespace weir
