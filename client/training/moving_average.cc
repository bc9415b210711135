#include "client/training/moving_average.h"

#include "client/initializers.h"
#include "client/ops.h"
#include "graph/graph.h"

namespace weir {
namespace {

bool Assigns(const Node& node, const Output& handle) {
  if (node.op() != "AssignVariableOp") return false;
  const Edge* variable = node.input_edge(0);
  return variable->src == handle.node() && variable->src_output == handle.index();
}

// The value that the variable's own initializer assigns. If there are copies, it is one of those that the combined
// initializer depends on.
Output InitialValue(const ResourceVariable& variable) {
  if (!variable.initializer().valid()) return {};
  std::vector<const Node*> nodes = {variable.initializer().node()};
  for (const Edge* edge : nodes[0]->in_edges()) nodes.push_back(edge->src);
  for (const Node* node : nodes) {
    if (!Assigns(*node, variable.handle())) continue;
    const Edge* value = node->input_edge(1);
    return Output(value->src, value->src_output);
  }
  return {};
}

// Updates all copies that a strategy keeps of the average.
Operation Move(const Scope& scope, const ResourceVariable& average, const Output& value, const Output& weight) {
  const Output distance = ops::Sub(scope, value, average.Read(scope));
  return average.AssignAdd(scope, ops::Mul(scope, distance, weight));
}

}  // namespace

Output ExponentialMovingAverage::Weight(const Scope& scope, DataType dtype) const {
  const Output decay = scope.Constant(options_.decay, dtype);
  if (!options_.num_updates.has_value()) return ops::Sub(scope, 1, decay);
  const Output updates = ops::Cast(scope, *options_.num_updates, dtype);
  const Output early = ops::RealDiv(scope, ops::AddV2(scope, updates, 1), ops::AddV2(scope, updates, 10));
  return ops::Sub(scope, 1, ops::Minimum(scope, decay, early));
}

Operation ExponentialMovingAverage::Apply(const Scope& scope, std::vector<ResourceVariable> variables) {
  if (variables.empty()) {
    for (const ResourceVariable& variable : scope.variables()) {
      if (variable.trainable()) variables.push_back(variable);
    }
  }
  std::vector<Operation> updates;
  for (const ResourceVariable& variable : variables) {
    if (!variable.valid()) continue;
    // A strategy places the average and its copies like the variable's.
    const Scope beside = variable.copies().empty() ? scope.Root().ColocateWith(variable.handle().op()) : scope.Root();
    const ResourceVariable average = ResourceVariable::Make(
        beside.WithName(absl::StrCat(variable.name(), "/", options_.name)), variable.shape(), variable.dtype(),
        [&](const Scope&, const TensorShape&, DataType) { return InitialValue(variable); }, {.trainable = false});
    const Scope update = variable.copies().empty() ? scope.ColocateWith(variable.handle().op()) : scope;
    updates.push_back(Move(update, average, variable.Read(update), Weight(update, variable.dtype())));
    followed_.push_back({variable, average});
  }
  return ops::NoOp(scope.WithControlDependencies(updates).WithName(options_.name));
}

ExponentialMovingAverage::OutputAverage ExponentialMovingAverage::Apply(const Scope& scope, const Output& value,
                                                                        const std::string& name) const {
  OutputAverage result;
  const Scope inner = scope.SubScope(name);
  const Output weight = Weight(inner, value.type());
  result.average = ResourceVariable::Make(inner.WithName("average"), TensorShape(), value.type(), initializers::Zeros(),
                                          {.trainable = false});
  result.update = Move(inner, result.average, value, weight);
  result.value = result.average.Read(inner);
  if (!options_.zero_debias) return result;
  const ResourceVariable steps = ResourceVariable::Make(inner.WithName("local_step"), TensorShape(), value.type(),
                                                        initializers::Zeros(), {.trainable = false});
  const Operation counted = steps.AssignAdd(inner.ColocateWith(steps.handle().op()), 1);
  // The remaining weight of the initial value is (1 - weight) ^ steps.
  const Output left = ops::Pow(inner, ops::Sub(inner, 1, weight), steps.Read(inner));
  result.value = ops::RealDiv(inner, result.value, ops::Sub(inner, 1, left));
  result.update = ops::NoOp(inner.WithControlDependencies({result.update, counted}));
  return result;
}

ResourceVariable ExponentialMovingAverage::Average(const ResourceVariable& variable) const {
  for (const Followed& followed : followed_) {
    if (followed.variable.handle() == variable.handle()) return followed.average;
  }
  return {};
}

std::vector<Saveable> ExponentialMovingAverage::VariablesFromAverages() const {
  std::vector<Saveable> saveables;
  for (const auto& [variable, average] : followed_) {
    Saveable saveable{
        .name = average.name(), .device = variable.handle().node()->requested_device(), .dtype = variable.dtype()};
    saveable.save = [variable = variable](const Scope& scope) { return variable.Read(scope); };
    saveable.restore = [variable = variable](const Scope& scope, const Output& value) {
      return variable.Assign(scope, ops::EnsureShape(scope, value, PartialTensorShape(variable.shape())));
    };
    saveable.initializer = variable.initializer();
    saveable.is_initialized = variable.is_initialized();
    saveables.push_back(std::move(saveable));
  }
  return saveables;
}

}  // namespace weir
