#include "client/strategy/parameter_server_strategy.h"

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_join.h"
#include "client/initializers.h"
#include "client/ops.h"
#include "client/strategy/gradient_accumulators.h"
#include "client/strategy/reduction.h"
#include "client/strategy/worker_tokens.h"
#include "client/wire.h"
#include "core/wire/wire_options.h"
#include "graph/graph.h"

namespace weir {
namespace {

constexpr char kStrategyName[] = "ParameterServerStrategy";

absl::StatusOr<std::vector<std::string>> DevicesOf(const ClusterSpec& cluster, const std::string& job) {
  const auto found = cluster.jobs().find(job);
  if (found == cluster.jobs().end() || found->second.empty()) {
    return errors::InvalidArgument(kStrategyName, " needs tasks of job '", job, "'; the cluster has ",
                                   cluster.empty() ? "no tasks" : absl::StrJoin(cluster.TaskNames(), ", "));
  }
  std::vector<std::string> devices;
  for (const auto& [index, address] : found->second) {
    devices.push_back(absl::StrCat(TaskName(job, index), "/device:CPU:0"));
  }
  return devices;
}

absl::Status CheckOptions(const ParameterServerOptions& options, int num_workers) {
  const bool between = options.worker >= 0;
  if (options.worker < -1 || options.worker >= num_workers) {
    return errors::InvalidArgument(kStrategyName, ": there is no worker ", options.worker, "; job '",
                                   options.worker_job, "' has ", num_workers, " tasks (-1: all of them in one graph)");
  }
  if (between && options.steps == WorkerSteps::kTogether) {
    return errors::InvalidArgument(kStrategyName,
                                   ": workers with separate graphs cannot step together: choose "
                                   "WorkerSteps::kSynchronous or kAsynchronous");
  }
  if (options.backup_workers < 0 || options.backup_workers >= num_workers ||
      (options.backup_workers > 0 && options.steps != WorkerSteps::kSynchronous)) {
    return errors::InvalidArgument(
        kStrategyName, ": ", options.backup_workers, " backup workers of ", num_workers,
        "; at least one must not be a backup, and only WorkerSteps::kSynchronous has backups");
  }
  if (options.staleness_bound < -1 || (options.staleness_bound >= 0 && options.steps != WorkerSteps::kAsynchronous)) {
    return errors::InvalidArgument(kStrategyName, ": the staleness bound ", options.staleness_bound,
                                   " needs WorkerSteps::kAsynchronous, and is -1 for none");
  }
  return Annotate(WireOptions::Parse(options.wire).status(), absl::StrCat(kStrategyName, ": wire"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<ParameterServerStrategy>> ParameterServerStrategy::Create(
    const weir::Scope& root, ParameterServerOptions options) {
  ASSIGN_OR_RETURN(std::vector<std::string> ps, DevicesOf(options.cluster, options.ps_job));
  ASSIGN_OR_RETURN(std::vector<std::string> workers, DevicesOf(options.cluster, options.worker_job));
  const int num_workers = static_cast<int>(workers.size());
  RETURN_IF_ERROR(CheckOptions(options, num_workers));
  Layout layout{
      .name = kStrategyName, .devices = std::move(workers), .num_replicas = num_workers, .all_replicas = num_workers};
  layout.in_step = options.steps == WorkerSteps::kTogether;
  if (options.worker >= 0) {
    layout.devices = {layout.devices[options.worker]};
    layout.first_replica = options.worker;
  }
  if (options.steps == WorkerSteps::kAsynchronous) layout.num_replicas = 1;
  return std::unique_ptr<ParameterServerStrategy>(
      new ParameterServerStrategy(root, std::move(layout), std::move(options), std::move(ps)));
}

ParameterServerStrategy::ParameterServerStrategy(const weir::Scope& root, Layout layout, ParameterServerOptions options,
                                                 std::vector<std::string> ps_devices)
    : Strategy(root, std::move(layout), SpreadVariables(options.place, ps_devices)),
      options_(std::move(options)),
      ps_devices_(std::move(ps_devices)),
      gates_(num_local()),
      gates_reads_(options_.steps != WorkerSteps::kTogether) {}

weir::Scope ParameterServerStrategy::Central(absl::string_view name) const {
  return Scope().Root().WithVariablePolicy(nullptr).WithDevice(ps_devices_[0]).SubScope(name);
}

absl::Status ParameterServerStrategy::FinishReplica(const GraphRegion& region, int i) {
  RETURN_IF_ERROR(SetWire(region, options_.wire));
  if (!gates_reads_) return absl::OkStatus();
  const weir::Scope scope = Central("read_gate");
  gates_[i].push_back(ops::NoOp(scope.WithName("gate")));
  RETURN_IF_ERROR(scope.status());
  return variables().ReadAfter(scope, region, gates_[i].back());
}

Operation ParameterServerStrategy::ApplyGradients(Optimizer& optimizer, const PerReplicaGradients& gradients,
                                                  const ResourceVariable& global_step, ReduceOp op) {
  const std::vector<VariableGradients> by_variable = ByVariable(gradients);
  if (!Scope().ok()) return {};
  const int first = Scope().graph()->num_node_ids();
  const Operation step = Apply(optimizer, by_variable, global_step, op);
  Scope().UpdateStatus(
      SetWire({.graph = Scope().graph(), .first = first, .last = Scope().graph()->num_node_ids()}, options_.wire));
  return step;
}

Operation ParameterServerStrategy::Apply(Optimizer& optimizer, const std::vector<VariableGradients>& by_variable,
                                         const ResourceVariable& global_step, ReduceOp op) {
  if (options_.steps == WorkerSteps::kTogether) return ApplyTogether(optimizer, by_variable, global_step, op);
  if (!global_step.valid()) {
    Scope().UpdateStatus(errors::InvalidArgument(
        kStrategyName,
        " counts updates by the global step, which identifies late gradients: pass one to ApplyGradients"));
    return {};
  }
  if (!worker_steps_.empty()) {
    Scope().UpdateStatus(errors::InvalidArgument(kStrategyName,
                                                 ": ApplyGradients was called before in this graph; with steps of "
                                                 "their own workers have one optimizer"));
    return {};
  }
  return options_.steps == WorkerSteps::kSynchronous ? ApplySynchronously(optimizer, by_variable, global_step, op)
                                                     : ApplyAsynchronously(optimizer, by_variable, global_step);
}

Operation ParameterServerStrategy::ApplyTogether(Optimizer& optimizer, const std::vector<VariableGradients>& gradients,
                                                 const ResourceVariable& global_step, ReduceOp op) {
  std::vector<GradientAndVariable> reduced;
  for (const VariableGradients& of_variable : gradients) {
    const weir::Scope beside = Scope().SubScope("reduce").ColocateWith(of_variable.variable.handle().op());
    reduced.push_back({ReduceGradients(beside, op, of_variable.parts, num_replicas_in_sync()), of_variable.variable});
  }
  return optimizer.ApplyGradients(Scope().WithDevice(ps_devices_[0]), reduced, global_step);
}

// A worker takes its token, reads the global step, then the variables. The updates run after all gradients were taken
// from the accumulators, then the step is incremented, then tokens are returned. So a gradient that an accumulator
// accepts was computed from the variables of that step.
Operation ParameterServerStrategy::ApplySynchronously(Optimizer& optimizer,
                                                      const std::vector<VariableGradients>& gradients,
                                                      const ResourceVariable& global_step, ReduceOp op) {
  const weir::Scope central = Central("sync_replicas");
  const std::string shared = absl::StrCat(central.name(), "/");
  const WorkerTokens tokens(central, shared, num_replicas_in_sync());
  GradientAccumulators accumulators(Central("accumulators"), shared, op);
  for (const VariableGradients& of_variable : gradients) {
    accumulators.Add(of_variable.variable, of_variable.parts[0].is_sparse());
  }
  for (int i = 0; i < num_local() && Scope().ok(); ++i) {
    const weir::Scope scope = Central("worker_step");
    const weir::Scope begun =
        scope.WithControlDependencies(std::vector<Operation>{tokens.Take(scope, first_replica() + i)});
    const Output read_at = global_step.Read(begun.ColocateWith(global_step.handle().op()));
    BeginAfter(i, gradients, read_at.op());
    std::vector<Operation> handed_in;
    for (size_t k = 0; k < gradients.size(); ++k) {
      handed_in.push_back(accumulators.HandIn(k, gradients[k].parts[i], read_at));
    }
    worker_steps_.push_back(ops::NoOp(scope.WithControlDependencies(handed_in).WithName("handed_in")));
  }
  if (!Scope().ok()) return {};
  if (!is_chief()) {
    resume_ = tokens.Return(Central("resume"), first_replica());
    return worker_steps_[0];
  }

  const Operation cleared = accumulators.Clear();
  const weir::Scope then = Central("start").WithControlDependencies(std::vector<Operation>{cleared});
  const Operation at_step = accumulators.SetStep(global_step.Read(then.ColocateWith(global_step.handle().op())));
  start_ = resume_ = tokens.Refill(Central("start").WithControlDependencies(std::vector<Operation>{at_step}));
  const std::vector<GradientAndVariable> taken = accumulators.Take(num_replicas_in_sync() - options_.backup_workers);
  std::vector<Operation> all_taken;
  for (const GradientAndVariable& gradient : taken) all_taken.push_back(gradient.gradient.values.op());
  Operation updated = optimizer.ApplyGradients(Scope().WithDevice(ps_devices_[0]), taken, global_step);
  // An update that is skipped leaves the global step, which the accumulators have counted on.
  const auto set_step = [&](const weir::Scope& scope) {
    return accumulators.SetStep(global_step.Read(scope.ColocateWith(global_step.handle().op())));
  };
  std::vector<Operation> first;
  if (optimizer.may_skip_steps()) first.push_back(set_step(Central("skipped")));
  chief_steps_ = {updated, tokens.Refill(Central("update").WithControlDependencies(first))};
  if (options_.worker == 0) return worker_steps_[0];
  // In a step of all workers the tokens are returned before the updates: none is taken in the same step, and a step
  // that waits both before and after its updates would get no commit.
  std::vector<Operation> all = worker_steps_;
  const auto after = [&updated](const weir::Scope& scope) {
    return scope.WithControlDependencies(std::vector<Operation>{updated});
  };
  all.push_back(optimizer.may_skip_steps() ? set_step(after(Central("skipped"))) : updated);
  all.push_back(tokens.Refill(Central("taken").WithControlDependencies(all_taken)));
  return ops::NoOp(central.WithControlDependencies(all).WithName("train"));
}

Operation ParameterServerStrategy::ApplyAsynchronously(Optimizer& optimizer,
                                                       const std::vector<VariableGradients>& gradients,
                                                       const ResourceVariable& global_step) {
  if (options_.staleness_bound >= 0) {
    num_dropped_ = ResourceVariable::Make(Central("staleness").WithName("num_dropped"), TensorShape(), DT_INT64,
                                          initializers::Zeros(), {.trainable = false});
  }
  MakeSlots(optimizer, gradients);
  gates_reads_ = false;  // the optimizer reads during the update
  ForEachReplica([&](int i, const weir::Scope& scope) {
    const weir::Scope central = Central("worker_step");
    const Output read_at = global_step.Read(central.ColocateWith(global_step.handle().op()));
    BeginAfter(i, gradients, read_at.op());
    std::vector<GradientAndVariable> own;
    for (const VariableGradients& of_variable : gradients) own.push_back({of_variable.parts[i], of_variable.variable});
    worker_steps_.push_back(options_.staleness_bound < 0
                                ? optimizer.ApplyGradients(scope.WithDevice(ps_devices_[0]), own, global_step)
                                : ApplyFresh(scope.WithDevice(ps_devices_[0]), optimizer, own, global_step, read_at));
  });
  gates_reads_ = true;
  if (!Scope().ok()) return {};
  return ops::NoOp(Central("train").WithControlDependencies(worker_steps_).WithName("all"));
}

// One worker at a time compares steps and updates, so that no update happens in between. Its gradients are already on
// the parameter servers. Stale ones are disabled, and with them all of the optimizer's ops.
Operation ParameterServerStrategy::ApplyFresh(const weir::Scope& scope, Optimizer& optimizer,
                                              std::vector<GradientAndVariable> gradients,
                                              const ResourceVariable& global_step, const Output& read_at) {
  const weir::Scope central = Central("staleness");
  std::vector<Operation> arrived;
  for (GradientAndVariable& gradient : gradients) {
    const weir::Scope beside = central.ColocateWith(gradient.variable.handle().op());
    gradient.gradient.values = ops::Identity(beside, gradient.gradient.values);
    arrived.push_back(gradient.gradient.values.op());
    if (!gradient.gradient.is_sparse()) continue;
    gradient.gradient.indices = ops::Identity(beside, gradient.gradient.indices);
    arrived.push_back(gradient.gradient.indices.op());
  }
  const Output mutex = ops::MutexV2(central, {.shared_name = "staleness/mutex"});
  const Output lock = ops::MutexLock(central.WithControlDependencies(arrived), mutex);
  const weir::Scope locked = central.WithControlDependencies(std::vector<Operation>{lock.op()});
  const Output now = global_step.Read(locked.ColocateWith(global_step.handle().op()));
  const Output fresh = ops::LessEqual(central, ops::Sub(central, now, read_at), options_.staleness_bound);
  const ops::SwitchResult choice = ops::Switch(central, fresh, fresh);
  const Output accepted = ops::Identity(central, choice.output_true),
               dropped = ops::Identity(central, choice.output_false);
  for (GradientAndVariable& gradient : gradients) {
    const weir::Scope beside = central.ColocateWith(gradient.variable.handle().op());
    gradient.gradient.values = ops::Switch(beside, gradient.gradient.values, fresh).output_true;
    if (!gradient.gradient.is_sparse()) continue;
    gradient.gradient.indices = ops::Switch(beside, gradient.gradient.indices, fresh).output_true;
  }
  const weir::Scope if_fresh = scope.WithControlDependencies(std::vector<Operation>{accepted.op()});
  const Operation updated = optimizer.ApplyGradients(if_fresh, gradients, global_step);
  const Operation counted =
      num_dropped_.AssignAdd(central.WithControlDependencies(std::vector<Operation>{dropped.op()}), int64_t{1});
  const auto after = [&central](const Operation& operation, const Output& value) {
    return ops::Identity(central.WithControlDependencies(std::vector<Operation>{operation}), value);
  };
  const Output done = ops::Merge(central, {after(updated, accepted), after(counted, dropped)}).output;
  return ops::ConsumeMutexLock(central.WithControlDependencies(std::vector<Operation>{done.op()}), lock);
}

void ParameterServerStrategy::BeginAfter(int i, const std::vector<VariableGradients>& gradients,
                                         const Operation& operation) {
  if (!Scope().ok()) return;
  absl::flat_hash_set<const Node*> seen;
  std::vector<const Node*> open;
  const auto visit = [&](const Node* node) {
    if (node != nullptr && seen.insert(node).second) open.push_back(node);
  };
  for (const VariableGradients& of_variable : gradients) {
    visit(of_variable.parts[i].values.node());
    visit(of_variable.parts[i].indices.node());
  }
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    for (const Edge* edge : node->in_edges()) visit(edge->src);
  }
  for (const Operation& gate : gates_[i]) {
    if (seen.contains(gate.node())) Scope().graph()->AddControlEdge(operation.node(), gate.node());
  }
}

}  // namespace weir
