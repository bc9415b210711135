#include "client/strategy/replicated_strategy.h"

#include "client/ops.h"
#include "client/strategy/reduction.h"

namespace weir {

namespace {

VariablePlacement OnFirstWithCopies(const std::vector<std::string>& devices) {
  return [devices](const Scope& scope, const TensorShape&, DataType, VariableOptions* options) {
    options->copy_devices.assign(devices.begin() + 1, devices.end());
    return scope.is_colocated() ? scope : scope.WithDevice(devices[0]);
  };
}

}  // namespace

ReplicatedStrategy::ReplicatedStrategy(const weir::Scope& root, const Layout& layout, InitialValue initial_value)
    : Strategy(root, layout, OnFirstWithCopies(layout.devices), std::move(initial_value)) {}

std::vector<weir::Scope> ReplicatedStrategy::OnEvery(absl::string_view name) const {
  std::vector<weir::Scope> scopes;
  for (const std::string& device : replica_devices()) scopes.push_back(Scope().WithDevice(device).SubScope(name));
  return scopes;
}

Operation ReplicatedStrategy::ApplyGradients(Optimizer& optimizer, const PerReplicaGradients& gradients,
                                             const ResourceVariable& global_step, ReduceOp op) {
  const std::vector<VariableGradients> by_variable = ByVariable(gradients);
  if (!Scope().ok()) return {};
  const std::vector<std::vector<Gradient>> reduced = AllReduceGradients(op, by_variable);
  MakeSlots(optimizer, by_variable);
  std::vector<Operation> updates;
  ForEachReplica([&](int i, const weir::Scope& scope) {
    std::vector<GradientAndVariable> own;
    for (size_t k = 0; k < reduced.size(); ++k) own.push_back({reduced[k][i], by_variable[k].variable});
    updates.push_back(optimizer.ApplyGradients(scope, own, global_step));
  });
  return ops::NoOp(Scope().WithDevice(replica_devices()[0]).WithControlDependencies(updates).WithName("train"));
}

std::vector<std::vector<Gradient>> ReplicatedStrategy::AllReduceGradients(
    ReduceOp op, const std::vector<VariableGradients>& gradients) {
  std::vector<std::vector<Gradient>> reduced;
  for (size_t k = 0; k < gradients.size() && Scope().ok(); ++k) {
    const weir::Scope scope = Scope().WithDevice(replica_devices()[k % replica_devices().size()]).SubScope("reduce");
    const Gradient sum = ReduceGradients(scope, op, gradients[k].parts, num_replicas_in_sync());
    reduced.emplace_back(num_local(), sum);
  }
  return reduced;
}

std::vector<std::vector<Gradient>> ReplicatedStrategy::AllReduceGradientsBy(
    CollectiveReduction& collectives, ReduceOp op, const std::vector<VariableGradients>& gradients) const {
  const std::vector<weir::Scope> scopes = OnEvery("reduce");
  std::vector<std::vector<Gradient>> parts;
  std::vector<TensorShape> shapes;
  for (const VariableGradients& of_variable : gradients) {
    parts.push_back(of_variable.parts);
    shapes.push_back(of_variable.variable.shape());
  }
  return collectives.AllReduceGradients(scopes, op, parts, shapes);
}

}  // namespace weir
