#include "client/estimator/training_graph.h"

#include <utility>

#include "client/strategy/distributed_dataset.h"
#include "client/strategy/training_tasks.h"

namespace weir {
namespace {

constexpr char kParameterServers[] = "ps";

// Each task that trains reads one shard of the input.
absl::StatusOr<InputContext> InputOf(const RunConfig& config) {
  if (!config.is_distributed()) return InputContext();
  ASSIGN_OR_RETURN(const TrainingTask task, TrainingTaskOf(config.task));
  return InputContext{.num_input_pipelines = task.count, .input_pipeline_id = task.index};
}

// Adds the iterators of `strategy`'s tasks; returns the batch of each replica.
absl::StatusOr<std::vector<PerReplica>> NextBatches(const Strategy& strategy, const InputFunction& input, bool in_turn,
                                                    std::vector<DataIterator>* iterators) {
  ASSIGN_OR_RETURN(const std::vector<InputPipeline> pipelines, InputPipelinesOf(strategy));
  // Iterators are state of their task, not the strategy's.
  const Scope root = strategy.Scope().Root().WithVariablePolicy(nullptr);
  std::vector<OutputList> by_component;
  for (const InputPipeline& pipeline : pipelines) {
    const Scope there = root.WithDevice(pipeline.device).SubScope("input");
    iterators->push_back(input(there, pipeline.context).MakeIterator());
    Scope next = there;
    for (int i = 0; i < pipeline.num_replicas; ++i) {
      const OutputList batch = iterators->back().GetNext(next);
      RETURN_IF_ERROR(root.status());
      if (in_turn) next = there.WithControlDependencies(std::vector<Operation>{batch[0].op()});
      by_component.resize(batch.size());
      for (size_t k = 0; k < batch.size(); ++k) by_component[k].push_back(batch[k]);
    }
  }
  std::vector<PerReplica> batches;
  for (OutputList& component : by_component) batches.emplace_back(std::move(component));
  return batches;
}

absl::StatusOr<TrainingGraph> BuildReplicated(const RunConfig& config, TrainingMode mode, const ModelFunction& model,
                                              const InputFunction& input) {
  ASSIGN_OR_RETURN(ReplicatedModel replicated, BuildReplicatedModel(config.train_distribute, config.task, model, input,
                                                                    ModelUse::kTrain, /*in_turn=*/true));
  TrainingGraph graph{.root = replicated.strategy->Scope().Root(), .global_step = replicated.global_step};
  OutputList losses;
  for (const ModelSpec& spec : replicated.replicas) losses.push_back(spec.loss);
  graph.spec = replicated.replicas[0];
  if (graph.spec.optimizer == nullptr || graph.spec.train.valid()) {
    return errors::InvalidArgument(
        "With RunConfig::train_distribute a model function returns an optimizer in "
        "ModelSpec::optimizer, and no training operation");
  }
  Strategy& strategy = *replicated.strategy;
  graph.train = strategy.Minimize(*graph.spec.optimizer, PerReplica(losses), graph.global_step);
  graph.spec.loss = strategy.Reduce(ReduceOp::kMean, PerReplica(losses));
  for (const DataIterator& iterator : replicated.inputs) graph.positions.push_back(iterator.Position());
  if (mode == TrainingMode::kSynchronised) {
    OutputList ones;
    for (const std::string& device : strategy.replica_devices()) {
      ones.push_back(strategy.Scope().WithDevice(device).Constant(1.0f));
    }
    graph.everyone = strategy.Reduce(ReduceOp::kSum, PerReplica(std::move(ones)));
  }
  graph.strategy = std::move(replicated.strategy);
  return graph;
}

}  // namespace

int TasksOf(const ClusterSpec& cluster, const std::string& job) {
  const auto found = cluster.jobs().find(job);
  return found == cluster.jobs().end() ? 0 : static_cast<int>(found->second.size());
}

absl::Status CheckScalar(const Output& output, const std::string& name) {
  if (output.valid() && output.type() == DT_FLOAT) return absl::OkStatus();
  return errors::InvalidArgument("The model's ", name, " is ", output.valid() ? DataTypeName(output.type()) : "missing",
                                 "; a float is needed");
}

std::string DeviceOf(const TfConfig& task) { return absl::StrCat("/job:", task.task_type, "/task:", task.task_index); }

ModelContext MakeModelContext(const RunConfig& config, const Scope& scope, ModelUse use) {
  ModelContext context{.use = use};
  const int servers = use == ModelUse::kTrain ? TasksOf(config.task.cluster, kParameterServers) : 0;
  if (servers == 0) {
    context.global_step = GlobalStep(scope.Root());
    context.next_variable_device = [] { return std::string(); };
    return context;
  }
  const auto devices = std::make_shared<RoundRobinDevices>(kParameterServers, servers);
  context.global_step = GlobalStep(scope.Root().WithDevice(devices->Next()));
  context.next_variable_device = [devices] { return devices->Next(); };
  return context;
}

absl::StatusOr<TrainingMode> TrainingModeOf(const RunConfig& config) {
  if (!config.is_distributed()) return TrainingMode::kAlone;
  if (!config.train_distribute) {
    if (TasksOf(config.task.cluster, kParameterServers) > 0) return TrainingMode::kIndependent;
    return errors::InvalidArgument("A cluster without parameter servers needs a strategy: RunConfig::train_distribute");
  }
  ASSIGN_OR_RETURN(const auto strategy, config.train_distribute(Scope::NewRoot(), config.task));
  const bool has_all = strategy->num_replicas() == static_cast<int>(strategy->replica_devices().size());
  return has_all ? TrainingMode::kDrivenByChief : TrainingMode::kSynchronised;
}

absl::StatusOr<ReplicatedModel> BuildReplicatedModel(const StrategyFactory& factory, const TfConfig& task,
                                                     const ModelFunction& model, const InputFunction& input,
                                                     ModelUse use, bool in_turn) {
  ReplicatedModel result;
  ASSIGN_OR_RETURN(result.strategy, factory(Scope::NewRoot(), task));
  Strategy& strategy = *result.strategy;
  ASSIGN_OR_RETURN(const std::vector<PerReplica> batches, NextBatches(strategy, input, in_turn, &result.inputs));
  result.global_step = GlobalStep(strategy.Scope());
  const ModelContext context{
      .use = use, .global_step = result.global_step, .next_variable_device = [] { return std::string(); }};
  absl::Status status;
  strategy.Run(
      [&](const ReplicaContext& replica, const OutputList& batch) {
        result.replicas.push_back(model(replica.scope(), batch, context));
        status.Update(CheckScalar(result.replicas.back().loss, "loss"));
        return OutputList{result.replicas.back().loss};
      },
      batches);
  RETURN_IF_ERROR(status);
  RETURN_IF_ERROR(strategy.Scope().status());
  return result;
}

absl::StatusOr<TrainingGraph> BuildTrainingGraph(const RunConfig& config, TrainingMode mode, const ModelFunction& model,
                                                 const InputFunction& input) {
  if (config.train_distribute) return BuildReplicated(config, mode, model, input);
  TrainingGraph graph;
  const Scope scope = config.is_distributed() ? graph.root.WithDevice(DeviceOf(config.task)) : graph.root;
  const ModelContext context = MakeModelContext(config, scope, ModelUse::kTrain);
  ASSIGN_OR_RETURN(const InputContext shard, InputOf(config));
  const DataIterator iterator = input(scope.SubScope("input"), shard).MakeIterator();
  graph.spec = model(scope, iterator.GetNext(scope), context);
  RETURN_IF_ERROR(graph.root.status());
  RETURN_IF_ERROR(CheckScalar(graph.spec.loss, "loss"));
  graph.train = graph.spec.train;
  if (!graph.train.valid() && graph.spec.optimizer != nullptr) {
    graph.train = graph.spec.optimizer->Minimize(scope, graph.spec.loss, context.global_step);
  }
  if (!graph.train.valid()) {
    return errors::InvalidArgument("The model function returned neither an optimizer nor a training operation");
  }
  graph.global_step = context.global_step;
  graph.positions = {iterator.Position()};
  return graph;
}

}  // namespace weir
