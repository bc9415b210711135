#include "client/training/gradient_accumulation.h"

#include "client/cond.h"
#include "client/initializers.h"
#include "client/ops.h"

namespace weir {
namespace {

struct Accumulated {
  ResourceVariable variable, sum;
};

ResourceVariable MakeBeside(const Scope& scope, const ResourceVariable& variable, const std::string& name,
                            const TensorShape& shape, DataType dtype) {
  const Scope beside = scope.Root().ColocateWith(variable.handle().op());
  return ResourceVariable::Make(beside.WithName(name), shape, dtype, initializers::Zeros(), {.trainable = false});
}

Operation Add(const Scope& scope, const ResourceVariable& sum, const Gradient& gradient) {
  if (!gradient.is_sparse()) return sum.AssignAdd(scope, gradient.values);
  return ops::ResourceScatterAdd(scope, sum.handle(), gradient.indices, gradient.values);
}

// Passes the mean to the optimizer and resets the sums to zero.
OutputList Apply(const Scope& scope, Optimizer& optimizer, const std::vector<Accumulated>& accumulated, int64_t steps) {
  std::vector<GradientAndVariable> means;
  std::vector<Output> read;
  for (const auto& [variable, sum] : accumulated) {
    const Scope beside = scope.ColocateWith(variable.handle().op());
    const Output mean = ops::RealDiv(beside, sum.Read(beside), static_cast<double>(steps));
    means.push_back({mean, variable});
    read.push_back(mean);
  }
  std::vector<Operation> done = {optimizer.ApplyGradients(scope, means)};
  for (size_t i = 0; i < accumulated.size(); ++i) {
    const auto& [variable, sum] = accumulated[i];
    const Scope after = scope.WithControlDependencies(read).ColocateWith(variable.handle().op());
    done.push_back(sum.Assign(after, ops::ZerosLike(after, read[i])));
  }
  return {ops::Identity(scope.WithControlDependencies(done), scope.Constant(Tensor::Scalar<bool>(true)))};
}

}  // namespace

Operation AccumulateGradients(const Scope& scope, Optimizer& optimizer,
                              const std::vector<GradientAndVariable>& gradients, int64_t steps,
                              const ResourceVariable& global_step) {
  if (steps < 1) {
    scope.UpdateStatus(
        errors::InvalidArgument("Gradients are accumulated over ", steps, " steps; expected at least 1"));
    return Operation();
  }
  std::vector<Accumulated> accumulated;
  std::vector<ResourceVariable> variables;
  std::vector<Operation> added;
  for (const auto& [gradient, variable] : gradients) {
    if (!gradient.valid()) continue;
    variables.push_back(variable);
    accumulated.push_back({variable, MakeBeside(scope, variable, variable.name() + "/gradient_accumulator",
                                                variable.shape(), variable.dtype())});
    added.push_back(Add(scope.ColocateWith(variable.handle().op()), accumulated.back().sum, gradient));
  }
  if (variables.empty()) {
    scope.UpdateStatus(errors::InvalidArgument("No gradients provided for any variable. Does the loss depend on one?"));
    return Operation();
  }
  optimizer.MakeSlots(scope, variables);
  const ResourceVariable count =
      MakeBeside(scope, variables[0], "gradient_accumulation_count", TensorShape(), DT_INT64);
  const Scope beside_count = scope.ColocateWith(count.handle().op());
  const Output next = ops::AddV2(beside_count, count.value(), int64_t{1});
  const Output complete = ops::Equal(beside_count, next, steps);
  // A count that restarts with each update cannot overflow.
  const Output left = ops::SelectV2(beside_count, complete, int64_t{0}, next);
  added.push_back(count.Assign(beside_count, left));

  const Scope after_adding = scope.WithControlDependencies(added);
  const Output apply_now = ops::Identity(after_adding.WithName("apply_now"), complete);
  const OutputList applied = Cond(
      scope, apply_now, [&](const Scope& s) { return Apply(s, optimizer, accumulated, steps); },
      [](const Scope& s) { return OutputList{ops::Identity(s, s.Constant(Tensor::Scalar<bool>(false)))}; },
      "apply_accumulated");
  if (!scope.ok()) return Operation();
  const Scope after = scope.WithControlDependencies(applied);
  if (!global_step.valid()) return ops::NoOp(after.WithName("train"));
  return global_step.AssignAdd(after.ColocateWith(global_step.handle().op()).WithName("train"), int64_t{1});
}

}  // namespace weir
