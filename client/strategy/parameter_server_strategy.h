// Variables on parameter servers, used by replicas on workers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/strategy/strategy.h"
#include "client/strategy/variable_placers.h"
#include "distribute/cluster/cluster_spec.h"

namespace weir {

enum class WorkerSteps {
  // All workers are in one graph and take each step together.
  kTogether,
  // Each worker takes steps of its own; an update is made of the gradients of all workers but the backup ones,
  // whichever come first. Gradients that come late are dropped.
  kSynchronous,
  // Each worker takes steps of its own, and updates at once.
  kAsynchronous,
};

struct ParameterServerOptions {
  ClusterSpec cluster;
  std::string ps_job = "ps", worker_job = "worker";
  // -1: one graph holds the replicas of all workers. Else only that of this worker: each has a client and a graph, and
  // they meet in the parameter servers' variables, which have the same names in all graphs.
  int worker = -1;
  PlaceVariables place = PlaceVariables::kBalancedByBytes;
  WorkerSteps steps = WorkerSteps::kTogether;
  // kSynchronous: how many workers an update does not wait for.
  int backup_workers = 0;
  // kAsynchronous: a gradient is dropped when more updates than this were made since its worker read the variables;
  // -1: none is.
  int64_t staleness_bound = -1;
  // How values and gradients pass between workers and parameter servers ("bf16+lz4", say; see client/wire.h).
  std::string wire;
};

// A Strategy whose workers may take steps of their own. Then one ApplyGradients or Minimize builds:
class ParameterServerStrategy : public Strategy {
 public:
  // InvalidArgument or NotFound for a job that the cluster does not have, a worker that it does not have, options that
  // do not go together.
  static absl::StatusOr<std::unique_ptr<ParameterServerStrategy>> Create(const weir::Scope& root,
                                                                         ParameterServerOptions options);

  // One step of the i-th worker of this graph, to be run again and again by a client of its own. With kSynchronous it
  // waits until it may begin, and ends when its gradients are handed in.
  const std::vector<Operation>& worker_steps() const { return worker_steps_; }
  // kSynchronous, in the graph of worker 0: run once, when the variables are initialised or restored, before any
  // worker's step; and again after a recovery.
  const Operation& start() const { return start_; }
  // kSynchronous, in the graph of worker 0: makes one update when enough gradients are there; to be run again and
  // again beside worker 0's steps. See ChiefThread.
  const Operation& update() const { return update_; }
  // kAsynchronous with a bound: how many gradients were dropped (int64), over all workers.
  const ResourceVariable& num_dropped() const { return num_dropped_; }

  // Returns the step of all workers of this graph; with kSynchronous and one graph, together with an update.
  Operation ApplyGradients(Optimizer& optimizer, const PerReplicaGradients& gradients,
                           const ResourceVariable& global_step, ReduceOp op) override;

 protected:
  absl::Status FinishReplica(const GraphRegion& region, int i) override;

 private:
  ParameterServerStrategy(const weir::Scope& root, Layout layout, ParameterServerOptions options,
                          std::vector<std::string> ps_devices);
  bool is_chief() const { return options_.worker <= 0; }
  Operation Apply(Optimizer& optimizer, const std::vector<VariableGradients>& by_variable,
                  const ResourceVariable& global_step, ReduceOp op);
  Operation ApplyTogether(Optimizer& optimizer, const std::vector<VariableGradients>& gradients,
                          const ResourceVariable& global_step, ReduceOp op);
  Operation ApplySynchronously(Optimizer& optimizer, const std::vector<VariableGradients>& gradients,
                               const ResourceVariable& global_step, ReduceOp op);
  Operation ApplyAsynchronously(Optimizer& optimizer, const std::vector<VariableGradients>& gradients,
                                const ResourceVariable& global_step);
  Operation ApplyFresh(const weir::Scope& scope, Optimizer& optimizer, std::vector<GradientAndVariable> gradients,
                       const ResourceVariable& global_step, const Output& read_at);
  // Lets what replica i computes of the gradients begin after `operation`.
  void BeginAfter(int i, const std::vector<VariableGradients>& gradients, const Operation& operation);
  // On the first parameter server.
  weir::Scope Central(absl::string_view name) const;

  const ParameterServerOptions options_;
  const std::vector<std::string> ps_devices_;
  // For each replica of this graph, those that its reads of variables wait for, one for each Run.
  std::vector<std::vector<Operation>> gates_;
  bool gates_reads_ = false;
  std::vector<Operation> worker_steps_;
  Operation start_, update_;
  ResourceVariable num_dropped_;
};

}  // namespace weir
