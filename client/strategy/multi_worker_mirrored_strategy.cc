#include "client/strategy/multi_worker_mirrored_strategy.h"

#include "absl/strings/str_join.h"
#include "client/ops.h"
#include "client/strategy/collective_reduction.h"
#include "client/strategy/device_checks.h"
#include "client/strategy/replicated_strategy.h"
#include "core/device/device_name.h"
#include "graph/graph.h"

namespace weir {
namespace {

constexpr char kName[] = "MultiWorkerMirroredStrategy";
// Reductions and broadcasts use separate ranges of instance keys, because their groups have common members.
constexpr int kFirstBroadcast = 1 << 24;

class MultiWorkerMirrored : public ReplicatedStrategy {
 public:
  // `broadcast`: among the workers; empty if one graph contains all of them.
  MultiWorkerMirrored(const weir::Scope& root, const Layout& layout, const MultiWorkerMirroredOptions& options,
                      std::shared_ptr<CollectiveReduction> broadcast)
      : ReplicatedStrategy(root, layout, broadcast ? OfFirstWorker(broadcast, layout.first_replica == 0) : nullptr),
        broadcast_(std::move(broadcast)),
        before_updates_(options.before_updates),
        collectives_(layout.num_replicas, options.group_key, options.first_instance_key, options.communication) {}

  // Every worker gets the first one's variables: those that a worker restored are of an earlier step than the others',
  // or theirs are of a later one. Copies that are synchronised on read stay each worker's own.
  Operation Resume() override {
    if (broadcast_ == nullptr) return {};
    const weir::Scope scope = Scope().WithDevice(replica_devices()[0]).SubScope("resume");
    if (!scope.ok()) return {};
    const int first_node = scope.graph()->num_node_ids();
    // Workers that are still in a step stop waiting and join here. Variables are sent only after all have joined, in
    // the same step.
    std::vector<Operation> met, assigned;
    const OutputList ones(num_local(), scope.Constant(1.0F));
    for (const Output& sum : collectives_.AllReduce(OnEvery("resume"), ReduceOp::kSum, ones)) {
      if (sum.valid()) met.push_back(sum.op());
    }
    const weir::Scope together = scope.WithControlDependencies(met);
    for (const ResourceVariable& variable : std::vector<ResourceVariable>(Scope().variables())) {
      if (variable.options().synchronization == VariableSynchronization::kOnRead) continue;
      const auto own = [&variable](const weir::Scope& beside, const TensorShape&, DataType) {
        return variable.Read(beside);
      };
      const Initializer first = OfFirstWorker(broadcast_, first_replica() == 0)(own);
      assigned.push_back(variable.Assign(scope, first(together, variable.shape(), variable.dtype())));
    }
    CollectiveReduction::BeginAnew(
        {.graph = scope.graph(), .first = first_node, .last = scope.graph()->num_node_ids()});
    return ops::NoOp(scope.WithControlDependencies(assigned).WithName("resumed"));
  }

 protected:
  // Within one graph values are copied to where they are used: a step that computes them for one replica only is not a
  // collective.
  Output ReduceToOne(ReduceOp op, const OutputList& values) override {
    if (has_all_replicas()) return Strategy::ReduceToOne(op, values);
    const OutputList results = AllReduce(op, values);
    if (!Scope().ok()) return results[0];
    // All members of this worker take part in a step that uses the result, or the other members would wait without end.
    return ops::Identity(Scope().WithDevice(replica_devices()[0]).WithControlDependencies(results), results[0]);
  }
  OutputList AllReduce(ReduceOp op, const OutputList& values) override {
    return has_all_replicas() ? Strategy::AllReduce(op, values) : collectives_.AllReduce(OnEvery("reduce"), op, values);
  }
  std::vector<std::vector<Gradient>> AllReduceGradients(ReduceOp op,
                                                        const std::vector<VariableGradients>& gradients) override {
    std::vector<std::vector<Gradient>> reduced = AllReduceGradientsBy(collectives_, op, gradients);
    if (before_updates_ != nullptr && Scope().ok()) HoldBack(&reduced);
    return reduced;
  }

 private:
  // Broadcasts do not support bfloat16; float represents all of its values.
  static InitialValue OfFirstWorker(const std::shared_ptr<CollectiveReduction>& broadcast, bool is_first) {
    return [broadcast, is_first](const Initializer& initializer) -> Initializer {
      return [broadcast, is_first, initializer](const weir::Scope& scope, const TensorShape& shape, DataType dtype) {
        const DataType sent = dtype == DT_BFLOAT16 ? DT_FLOAT : dtype;
        Output value;
        if (is_first) value = initializer(scope, shape, dtype);
        if (is_first && sent != dtype) value = ops::Cast(scope, value, sent);
        const Output received = broadcast->Broadcast(scope, value, shape, sent);
        return sent == dtype ? received : ops::Cast(scope, received, dtype);
      };
    };
  }

  // The gradients become available after `before_updates`, which runs when all are reduced.
  void HoldBack(std::vector<std::vector<Gradient>>* reduced) {
    std::vector<Operation> all;
    for (const std::vector<Gradient>& parts : *reduced) {
      for (const Gradient& gradient : parts) {
        all.push_back(gradient.values.op());
        if (gradient.is_sparse()) all.push_back(gradient.indices.op());
      }
    }
    const weir::Scope scope = Scope().WithDevice(replica_devices()[0]).SubScope("reduced");
    const Operation begun = before_updates_(scope.WithControlDependencies(all));
    const std::vector<weir::Scope> scopes = OnEvery("reduced");
    for (std::vector<Gradient>& parts : *reduced) {
      for (size_t i = 0; i < parts.size() && Scope().ok(); ++i) {
        const weir::Scope after = scopes[i].WithControlDependencies(std::vector<Operation>{begun});
        const Output values = ops::Identity(after, parts[i].values);
        parts[i] = parts[i].is_sparse() ? Gradient(values, ops::Identity(after, parts[i].indices), parts[i].dense_shape)
                                        : Gradient(values);
      }
    }
  }

  bool has_all_replicas() const { return num_local() == num_replicas_in_sync(); }

  const std::shared_ptr<CollectiveReduction> broadcast_;  // among the workers' graphs; null: there is one graph
  const std::function<Operation(const weir::Scope&)> before_updates_;
  CollectiveReduction collectives_;
};

absl::StatusOr<std::vector<std::string>> Workers(const MultiWorkerMirroredOptions& options) {
  std::vector<std::string> tasks;
  for (const std::string& job : options.jobs) {
    const auto found = options.cluster.jobs().find(job);
    if (found == options.cluster.jobs().end()) continue;
    for (const auto& [index, address] : found->second) tasks.push_back(TaskName(job, index));
  }
  const int num_workers = static_cast<int>(tasks.size());
  if (tasks.empty()) {
    return errors::InvalidArgument(kName, " needs tasks of the jobs ", absl::StrJoin(options.jobs, ", "),
                                   "; the cluster has ", absl::StrJoin(options.cluster.TaskNames(), ", "));
  }
  if (options.worker < -1 || options.worker >= num_workers) {
    return errors::InvalidArgument(kName, ": there is no worker ", options.worker, " among ",
                                   absl::StrJoin(tasks, ", "), " (-1: all of them in one graph)");
  }
  if (options.worker >= 0) return std::vector<std::string>{tasks[options.worker]};
  return tasks;
}

int NumWorkers(MultiWorkerMirroredOptions options) {
  options.worker = -1;
  return static_cast<int>(Workers(options)->size());
}

}  // namespace

absl::StatusOr<std::unique_ptr<Strategy>> MultiWorkerMirroredStrategy(const Scope& root,
                                                                      MultiWorkerMirroredOptions options) {
  ASSIGN_OR_RETURN(const std::vector<std::string> tasks, Workers(options));
  RETURN_IF_ERROR(CheckOneTask(kName, options.local_devices));
  RETURN_IF_ERROR(CheckCommunication(kName, options.communication));
  const int num_workers = NumWorkers(options), num_local = static_cast<int>(options.local_devices.size());
  std::vector<std::string> devices;
  for (const std::string& task : tasks) {
    for (const std::string& device : options.local_devices) {
      ASSIGN_OR_RETURN(const DeviceName on_task, DeviceName::Parse(task));
      ASSIGN_OR_RETURN(const DeviceName local, DeviceName::Parse(device));
      devices.push_back(local.OverriddenBy(on_task).ToString());
    }
  }
  const bool between = options.worker >= 0;
  std::shared_ptr<CollectiveReduction> broadcast;
  if (between && num_workers > 1 && !options.own_initial_values) {
    broadcast = std::make_shared<CollectiveReduction>(
        num_workers, options.group_key + 1, kFirstBroadcast,
        CommunicationOptions{.timeout_seconds = options.communication.timeout_seconds});
  }
  return std::make_unique<MultiWorkerMirrored>(
      root,
      MultiWorkerMirrored::Layout{.name = kName,
                                  .devices = std::move(devices),
                                  .first_replica = between ? options.worker * num_local : 0,
                                  .num_replicas = num_workers * num_local},
      options, std::move(broadcast));
}

}  // namespace weir
