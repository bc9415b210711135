// Variables on parameter servers, used by replicas on workers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/strategy/strategy.h"
#include "client/strategy/variable_placers.h"
#include "core/api.h"
#include "distribute/cluster/cluster_spec.h"

namespace WEIR_API weir {

enum class WorkerSteps {
  // All workers are in one graph and step together.
  kTogether,
  // Workers step independently; an update takes the gradients of all workers except the backup ones, whichever arrive
  // first. Late gradients are dropped.
  kSynchronous,
  // Workers step independently and update immediately.
  kAsynchronous,
};

struct ParameterServerOptions {
  ClusterSpec cluster;
  std::string ps_job = "ps", worker_job = "worker";
  // -1: one graph contains the replicas of all workers. Otherwise only this worker's: each worker has its own client
  // and graph, and they share the parameter servers' variables, which have the same names in all graphs.
  int worker = -1;
  PlaceVariables place = PlaceVariables::kBalancedByBytes;
  WorkerSteps steps = WorkerSteps::kTogether;
  // kSynchronous: the number of workers that an update does not wait for.
  int backup_workers = 0;
  // kAsynchronous: drop a gradient if more than this many updates happened since its worker read the variables; -1:
  // never.
  int64_t staleness_bound = -1;
  // The wire format of values and gradients between workers and parameter servers ("bf16+lz4", say; see client/wire.h).
  std::string wire;
};

// A Strategy whose workers may step independently. In that case one ApplyGradients or Minimize builds the ops below.
class ParameterServerStrategy : public Strategy {
 public:
  // InvalidArgument or NotFound for an unknown job or worker, or conflicting options.
  static absl::StatusOr<std::unique_ptr<ParameterServerStrategy>> Create(const weir::Scope& root,
                                                                         ParameterServerOptions options);

  // One step of this graph's i-th worker, which its own client runs repeatedly. With kSynchronous it waits until the
  // worker may start, and ends when its gradients are added.
  const std::vector<Operation>& worker_steps() const { return worker_steps_; }
  // kSynchronous, in the graph of worker 0: run once after the variables are initialised or restored, before any
  // worker's step; and again after a recovery. Drops the gradients that were handed in.
  const Operation& start() const { return start_; }
  // kSynchronous: start(), or, in the graph of another worker, an operation that gives that worker a token if it has
  // none, because a step that failed may have taken it.
  Operation Resume() override { return resume_; }
  // kSynchronous, in the graph of worker 0: the first makes one update when enough gradients have arrived, the second
  // allows workers to begin steps. Run them in turn, repeatedly, concurrently with worker 0's steps but not with
  // start(): see ChiefHook. Two steps, because one that waits both before and after its updates has no commit.
  const std::vector<Operation>& chief_steps() const { return chief_steps_; }
  // kAsynchronous with a bound: the number of dropped gradients (int64), over all workers.
  const ResourceVariable& num_dropped() const { return num_dropped_; }

  // Returns the step of all workers of this graph; for kSynchronous with one graph, including an update.
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
  // Delays replica i's gradient computation until `operation` has run.
  void BeginAfter(int i, const std::vector<VariableGradients>& gradients, const Operation& operation);
  // A scope on the first parameter server.
  weir::Scope Central(absl::string_view name) const;

  const ParameterServerOptions options_;
  const std::vector<std::string> ps_devices_;
  // Per replica of this graph and Run, the ops that reads of variables wait for.
  std::vector<std::vector<Operation>> gates_;
  bool gates_reads_ = false;
  std::vector<Operation> worker_steps_;
  std::vector<Operation> chief_steps_;
  Operation start_, resume_;
  ResourceVariable num_dropped_;
};

}  // namespace weir
