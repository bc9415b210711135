#include "client/strategy/strategy.h"

#include "client/gradients.h"
#include "client/ops.h"
#include "client/strategy/pending_reductions.h"
#include "client/strategy/reduction.h"
#include "client/strategy/replica_writes.h"
#include "graph/graph.h"

namespace weir {

Output ReplicaContext::AllReduce(ReduceOp op, const Output& value) const { return reductions_->Add(scope_, op, value); }

Strategy::Strategy(const weir::Scope& root, Layout layout, VariablePlacement placement, InitialValue initial_value)
    : layout_(std::move(layout)),
      variables_(std::make_shared<StrategyVariables>(std::move(placement), std::move(initial_value))),
      scope_(root.WithVariablePolicy(StrategyVariables::BetweenReplicas(variables_))) {}

Strategy::~Strategy() = default;

void Strategy::ForEachReplica(const std::function<void(int replica, const weir::Scope& scope)>& build) {
  const auto policy = StrategyVariables::InReplica(variables_);
  variables_->BeginReplicas();
  for (int i = 0; i < num_local() && scope_.ok(); ++i) {
    weir::Scope scope = scope_.WithDevice(layout_.devices[i]).WithVariablePolicy(policy);
    if (i > 0) scope = scope.SubScope(absl::StrCat("replica_", i));
    const int first = scope_.graph()->num_node_ids();
    variables_->BeginReplica(i);
    build(i, scope);
    if (!scope_.ok()) return;
    scope_.UpdateStatus(variables_->EndReplica(name()));
    scope_.UpdateStatus(FinishReplica(
        {.graph = scope_.graph(), .outside_end = first, .first = first, .last = scope_.graph()->num_node_ids()}, i));
  }
}

absl::Status Strategy::FinishReplica(const GraphRegion& region, int i) { return variables_->Retarget(region, i); }

std::vector<PerReplica> Strategy::Run(const ReplicaFunction& function, const std::vector<PerReplica>& inputs) {
  scope_.UpdateStatus(CheckReplicas(inputs));
  PendingReductions reductions(num_local());
  ReplicaWrites writes(variables_.get(), name(), num_local(), first_replica(),
                       layout_.in_step ? num_replicas_in_sync() : 1);
  std::vector<OutputList> results;
  ForEachReplica([&](int i, const weir::Scope& scope) {
    OutputList own;
    for (const PerReplica& input : inputs) own.push_back(input[i]);
    const int first = scope.graph()->num_node_ids();
    reductions.BeginReplica(i);
    results.push_back(function(ReplicaContext(scope, first_replica() + i, num_replicas_in_sync(), &reductions), own));
    if (!scope.ok()) return;
    scope.UpdateStatus(writes.Collect(
        {.graph = scope.graph(), .outside_end = first, .first = first, .last = scope.graph()->num_node_ids()}, i));
  });
  if (!scope_.ok()) return {};
  scope_.UpdateStatus(ResolveReductions(reductions, writes));
  auto by_value = ByValue(results);
  scope_.UpdateStatus(by_value.status());
  return scope_.ok() ? *std::move(by_value) : std::vector<PerReplica>();
}

absl::Status Strategy::ResolveReductions(const PendingReductions& reductions, const ReplicaWrites& writes) {
  if (!layout_.in_step && !reductions.empty()) {
    return errors::InvalidArgument("ReplicaContext::AllReduce needs replicas that step together; under ", name(),
                                   " workers step independently");
  }
  const auto all_reduce = [this](ReduceOp op, const OutputList& values) { return AllReduce(op, values); };
  RETURN_IF_ERROR(reductions.Resolve(scope_, all_reduce));
  return writes.Aggregate(scope_, all_reduce);
}

absl::Status Strategy::CheckReplicas(const std::vector<PerReplica>& values) const {
  for (size_t k = 0; k < values.size(); ++k) {
    if (values[k].size() != num_local()) {
      return errors::InvalidArgument("Value ", k, " has parts for ", values[k].size(), " replicas; ", name(), " has ",
                                     num_local(), " in this graph");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<PerReplica>> Strategy::ByValue(const std::vector<OutputList>& results) const {
  std::vector<PerReplica> by_value;
  if (results.empty()) return by_value;
  for (size_t i = 1; i < results.size(); ++i) {
    if (results[i].size() != results[0].size()) {
      return errors::InvalidArgument("Replica ", i, " returns ", results[i].size(), " values and replica 0 ",
                                     results[0].size());
    }
  }
  for (size_t k = 0; k < results[0].size(); ++k) {
    OutputList values;
    for (const OutputList& own : results) values.push_back(own[k]);
    by_value.emplace_back(std::move(values));
  }
  return by_value;
}

absl::Status Strategy::CheckReducible(const PerReplica& value) const {
  RETURN_IF_ERROR(CheckReplicas({value}));
  for (int i = 0; i < value.size(); ++i) {
    if (!value[i].valid()) return errors::InvalidArgument("Reduce: the value of replica ", i, " was never built");
    if (value[i].type() != value[0].type()) {
      return errors::InvalidArgument("Reduce: '", value[i].name(), "' of replica ", i, " is ",
                                     DataTypeName(value[i].type()), " and '", value[0].name(), "' of replica 0 is ",
                                     DataTypeName(value[0].type()), ": cast them to one type");
    }
  }
  return absl::OkStatus();
}

Output Strategy::Reduce(ReduceOp op, const PerReplica& value, std::optional<int> axis) {
  if (!scope_.ok()) return {};
  scope_.UpdateStatus(CheckReducible(value));
  if (!scope_.ok()) return {};
  if (!axis.has_value()) return ReduceToOne(op, value.values());
  OutputList sums, sizes;
  for (int i = 0; i < num_local(); ++i) {
    const weir::Scope scope = scope_.WithDevice(layout_.devices[i]).SubScope("reduce");
    const Tensor dimension = Tensor::Vector<int32_t>({*axis});
    sums.push_back(ops::Sum(scope, value[i], dimension));
    if (op == ReduceOp::kSum) continue;
    const Output size = ops::StridedSlice(scope, ops::Shape(scope, value[i]), dimension, dimension,
                                          Tensor::Vector<int32_t>({1}), {.shrink_axis_mask = 1});
    sizes.push_back(ops::Cast(scope, size, value[i].type()));
  }
  const Output sum = ReduceToOne(ReduceOp::kSum, sums);
  if (op == ReduceOp::kSum) return sum;
  return ops::Div(scope_.WithDevice(layout_.devices[0]), sum, ReduceToOne(ReduceOp::kSum, sizes));
}

Output Strategy::ReduceToOne(ReduceOp op, const OutputList& values) {
  return ReduceValues(scope_.WithDevice(layout_.devices[0]).SubScope("reduce"), op, values, num_reduced());
}

OutputList Strategy::AllReduce(ReduceOp op, const OutputList& values) {
  return OutputList(values.size(), ReduceToOne(op, values));
}

PerReplicaGradients Strategy::ComputeGradients(const Optimizer& optimizer, const PerReplica& loss) {
  if (scope_.ok()) scope_.UpdateStatus(CheckReducible(loss));
  PerReplicaGradients result;
  for (int i = 0; i < num_local() && scope_.ok(); ++i) {
    std::vector<ResourceVariable> variables, own;
    for (const ResourceVariable& variable : scope_.variables()) {
      if (!variable.trainable()) continue;
      variables.push_back(variable);
      own.push_back(i == 0 || variable.copies().empty() ? variable : variable.copies()[i - 1]);
    }
    const weir::Scope scope = scope_.WithDevice(layout_.devices[i]);
    std::vector<GradientAndVariable> gradients = optimizer.ComputeGradients(scope, loss[i], own);
    for (size_t k = 0; k < gradients.size(); ++k) gradients[k].variable = variables[k];
    result.push_back(std::move(gradients));
  }
  return result;
}

std::vector<Strategy::VariableGradients> Strategy::ByVariable(const PerReplicaGradients& gradients) const {
  std::vector<VariableGradients> result;
  if (!scope_.ok()) return result;
  if (static_cast<int>(gradients.size()) != num_local()) {
    scope_.UpdateStatus(errors::InvalidArgument("ApplyGradients got gradients of ", gradients.size(), " replicas; ",
                                                name(), " has ", num_local(), " in this graph"));
    return result;
  }
  for (size_t k = 0; k < gradients[0].size(); ++k) {
    auto collected = Collect(gradients, k);
    scope_.UpdateStatus(collected.status());
    if (!scope_.ok()) return {};
    if (!collected->parts.empty()) result.push_back(*std::move(collected));
  }
  return result;
}

void Strategy::MakeSlots(Optimizer& optimizer, const std::vector<VariableGradients>& gradients) const {
  std::vector<ResourceVariable> updated;
  for (const VariableGradients& of_variable : gradients) updated.push_back(of_variable.variable);
  optimizer.MakeSlots(scope_, updated);
}

absl::StatusOr<Strategy::VariableGradients> Strategy::Collect(const PerReplicaGradients& gradients, size_t k) const {
  VariableGradients result{.variable = gradients[0][k].variable};
  int valid = 0, sparse = 0;
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (gradients[i].size() != gradients[0].size() ||
        !(gradients[i][k].variable.handle() == result.variable.handle())) {
      return errors::InvalidArgument("Replica ", i, " lists its gradients in another order than replica 0, from '",
                                     result.variable.name(), "' on");
    }
    const Gradient& gradient = gradients[i][k].gradient;
    valid += gradient.valid() ? 1 : 0;
    sparse += gradient.is_sparse() ? 1 : 0;
    result.parts.push_back(gradient);
  }
  if (valid == 0) return VariableGradients();
  if (valid != num_local() || (sparse != 0 && sparse != valid)) {
    return errors::InvalidArgument("Replicas disagree on the gradient of '", result.variable.name(),
                                   "': some lack it, or some are sparse and others dense");
  }
  if (variables_->Find(result.variable.handle()) == nullptr) {
    return errors::InvalidArgument("The variable '", result.variable.name(), "' was not made under ", name(),
                                   ": make it with the scope that Strategy::Scope gives, or with a replica's");
  }
  return result;
}

}  // namespace weir
