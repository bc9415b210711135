// Replication of a model: one interface for one device, several, parameter servers and several workers.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/optimizer.h"
#include "client/scope.h"
#include "client/strategy/per_replica.h"
#include "client/strategy/strategy_variables.h"
#include "core/api.h"

namespace WEIR_API weir {

class PendingReductions;
class ReplicaWrites;

// Passed to a model function: the replica that it is called for.
class ReplicaContext {
 public:
  ReplicaContext(weir::Scope scope, int replica, int num_replicas, PendingReductions* reductions)
      : scope_(std::move(scope)), replica_(replica), num_replicas_(num_replicas), reductions_(reductions) {}

  // Ops are placed on the replica's device; variables are the strategy's.
  const weir::Scope& scope() const { return scope_; }
  // The index among all replicas that train together, including those of other graphs.
  int replica_id_in_sync_group() const { return replica_; }
  int num_replicas_in_sync() const { return num_replicas_; }
  // The sum or mean of `value` over all replicas, all of which must call it at the same point. Gradients do not flow
  // through it.
  Output AllReduce(ReduceOp op, const Output& value) const;

 private:
  const weir::Scope scope_;
  const int replica_, num_replicas_;
  PendingReductions* const reductions_;
};

// Builds a replica's part of a model from its inputs.
using ReplicaFunction = std::function<OutputList(const ReplicaContext& replica, const OutputList& inputs)>;

// Replicates a model within a graph under construction. The model function is called once per replica and creates the
// same variables in each; the strategy decides where they are and which copy a replica uses:
//
//   const Scope scope = strategy->Scope();
//   const Model model(scope);                       // or within the function
//   const PerReplica loss = strategy->Run([&](const ReplicaContext& replica, const OutputList& batch) {
//     return OutputList{model.Loss(replica.scope(), batch[0], batch[1])};
//   }, {images, labels})[0];
//   const Operation train = strategy->Minimize(*optimizer, loss, GlobalStep(scope));
//   const Output mean_loss = strategy->Reduce(ReduceOp::kMean, loss);
//
// Sessions, optimizers, savers and training loops see one variable, which represents its copies. As with a Scope, the
// first error is recorded, and reported by the scope's status() or a Session's Run. Not thread-safe.
class Strategy {
 public:
  // Set by strategies from their options.
  struct Layout {
    std::string name;
    std::vector<std::string> devices;  // one for each replica of this graph
    int first_replica = 0;
    int num_replicas = 0;  // in all graphs, contributing to one update
    int all_replicas = 0;  // in all graphs, if there are more than those; 0: as many
    // All replicas step together. Otherwise a replica's writes are not aggregated.
    bool in_step = true;
  };

  virtual ~Strategy();
  Strategy(const Strategy&) = delete;

  // For example "MirroredStrategy".
  const std::string& name() const { return layout_.name; }
  // Variables created with this scope, or one derived from it, are the strategy's. For use outside of replicas.
  const weir::Scope& Scope() const { return scope_; }
  // The number of replicas that contribute to one update, and the devices of those in this graph.
  int num_replicas_in_sync() const { return layout_.num_replicas; }
  const std::vector<std::string>& replica_devices() const { return layout_.devices; }
  // All training replicas, synchronous or not.
  int num_replicas() const { return std::max(layout_.num_replicas, layout_.all_replicas); }
  // The index of this graph's first replica among all.
  int first_replica() const { return layout_.first_replica; }

  // Calls `function` for each replica of this graph with that replica's part of `inputs`. Returns one PerReplica per
  // returned value. Then writes of replicas to variables are aggregated according to the variables' options;
  // INVALID_ARGUMENT if those do not specify an aggregation.
  std::vector<PerReplica> Run(const ReplicaFunction& function, const std::vector<PerReplica>& inputs = {});

  // Reduces the values of all replicas to one. With `axis` each is also reduced along that dimension; a mean then
  // weights replicas by their sizes, so that an uneven last batch counts correctly.
  Output Reduce(ReduceOp op, const PerReplica& value, std::optional<int> axis = std::nullopt);

  // The gradients of each replica's loss with respect to all trainable variables.
  PerReplicaGradients ComputeGradients(const Optimizer& optimizer, const PerReplica& loss);
  // Reduces the gradients over all replicas and updates every copy of the variables; increments `global_step`. The
  // default is the mean, which suits losses that are means over a replica's batch. The operation is one step of this
  // graph's replicas.
  virtual Operation ApplyGradients(Optimizer& optimizer, const PerReplicaGradients& gradients,
                                   const ResourceVariable& global_step, ReduceOp op = ReduceOp::kMean) = 0;
  Operation Minimize(Optimizer& optimizer, const PerReplica& loss, const ResourceVariable& global_step) {
    return ApplyGradients(optimizer, ComputeGradients(optimizer, loss), global_step);
  }

  // For TrainingLoopOptions::resume: makes what tasks have besides variables, and what each worker's graph has of its
  // own, agree again after a loss. Build it last. Invalid if the strategy has no such state.
  virtual Operation Resume() { return {}; }

  // Calls `build` for each replica of this graph with the replica's scope, then redirects the new ops to the replica's
  // copies of variables. Like Run without inputs and values, and without aggregating writes: a building block.
  void ForEachReplica(const std::function<void(int replica, const weir::Scope& scope)>& build);

 protected:
  // `placement` decides where variables are; `initial_value`, if set, what they start with.
  Strategy(const weir::Scope& root, Layout layout, VariablePlacement placement, InitialValue initial_value = nullptr);

  // The sum or mean of `values`, one for each replica of this graph, over all replicas: as a single value, and as one
  // value for each replica of this graph.
  virtual Output ReduceToOne(ReduceOp op, const OutputList& values);
  virtual OutputList AllReduce(ReduceOp op, const OutputList& values);

  // The checked gradients by variable; without variables that have none.
  struct VariableGradients {
    ResourceVariable variable;
    std::vector<Gradient> parts;  // one for each replica of this graph
  };
  std::vector<VariableGradients> ByVariable(const PerReplicaGradients& gradients) const;
  // Makes the optimizer create its slots once, outside of replicas, rather than in each.
  void MakeSlots(Optimizer& optimizer, const std::vector<VariableGradients>& gradients) const;

  // Processes the ops that replica `i` of this graph has built: by default redirects them to its own variables.
  virtual absl::Status FinishReplica(const GraphRegion& region, int i);

  const StrategyVariables& variables() const { return *variables_; }
  int num_local() const { return static_cast<int>(layout_.devices.size()); }

 private:
  absl::Status ResolveReductions(const PendingReductions& reductions, const ReplicaWrites& writes);
  // The number of values in a mean of ReduceToOne.
  int num_reduced() const { return layout_.in_step ? num_replicas_in_sync() : num_local(); }
  absl::Status CheckReplicas(const std::vector<PerReplica>& values) const;
  absl::Status CheckReducible(const PerReplica& value) const;
  absl::StatusOr<std::vector<PerReplica>> ByValue(const std::vector<OutputList>& results) const;
  absl::StatusOr<VariableGradients> Collect(const PerReplicaGradients& gradients, size_t k) const;

  const Layout layout_;
  const std::shared_ptr<StrategyVariables> variables_;
  const weir::Scope scope_;
};

}  // namespace weir
