#include "client/strategy/shared_variables_strategy.h"

#include "client/strategy/reduction.h"

namespace weir {

Strategy::Layout SharedVariablesStrategy::LayoutOf(std::string name, const std::vector<std::string>& devices) {
  return {.name = std::move(name), .devices = devices, .num_replicas = static_cast<int>(devices.size())};
}

Operation SharedVariablesStrategy::ApplyGradients(Optimizer& optimizer, const PerReplicaGradients& gradients,
                                                  const ResourceVariable& global_step, ReduceOp op) {
  std::vector<GradientAndVariable> reduced;
  for (const VariableGradients& of_variable : ByVariable(gradients)) {
    const weir::Scope beside = Scope().SubScope("reduce").ColocateWith(of_variable.variable.handle().op());
    reduced.push_back({ReduceGradients(beside, op, of_variable.parts, num_replicas_in_sync()), of_variable.variable});
  }
  return Scope().ok() ? optimizer.ApplyGradients(Scope(), reduced, global_step) : Operation();
}

}  // namespace weir
