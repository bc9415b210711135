// How a model is replicated: one interface for one device, several, parameter servers and several workers.
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

namespace weir {

class PendingReductions;
class ReplicaWrites;

// What a model function sees of the replica that it is built for.
class ReplicaContext {
 public:
  ReplicaContext(weir::Scope scope, int replica, int num_replicas, PendingReductions* reductions)
      : scope_(std::move(scope)), replica_(replica), num_replicas_(num_replicas), reductions_(reductions) {}

  // Ops go to the replica's device; variables are the strategy's.
  const weir::Scope& scope() const { return scope_; }
  // Among all replicas that train together, also those of other graphs.
  int replica_id_in_sync_group() const { return replica_; }
  int num_replicas_in_sync() const { return num_replicas_; }
  // The sum or mean of `value` over all replicas: each calls it in the same places. Gradients do not flow through it.
  Output AllReduce(ReduceOp op, const Output& value) const;

 private:
  const weir::Scope scope_;
  const int replica_, num_replicas_;
  PendingReductions* const reductions_;
};

// Builds the part of a model that one replica computes, from its inputs.
using ReplicaFunction = std::function<OutputList(const ReplicaContext& replica, const OutputList& inputs)>;

// Replicates a model within a graph under construction. The model function is called once for each replica and makes
// the same variables in each; the strategy says where they live and which copy a replica sees:
//
//   const Scope scope = strategy->Scope();
//   const Model model(scope);                       // or within the function
//   const PerReplica loss = strategy->Run([&](const ReplicaContext& replica, const OutputList& batch) {
//     return OutputList{model.Loss(replica.scope(), batch[0], batch[1])};
//   }, {images, labels})[0];
//   const Operation train = strategy->Minimize(*optimizer, loss, GlobalStep(scope));
//   const Output mean_loss = strategy->Reduce(ReduceOp::kMean, loss);
//
// The functions of a Session, an Optimizer, a Saver and a TrainingLoop see one variable, which stands for its copies.
// As with a Scope the first error is kept, and reported by the scope's status() or a Session's Run. Not thread-safe.
class Strategy {
 public:
  // What a kind of strategy makes of its options.
  struct Layout {
    std::string name;
    std::vector<std::string> devices;  // one for each replica of this graph
    int first_replica = 0;
    int num_replicas = 0;  // whose gradients make one update, in all graphs
    int all_replicas = 0;  // in all graphs, where they are more than those; 0: no more
    // All replicas take each step together. Otherwise what one writes is written as it is.
    bool in_step = true;
  };

  virtual ~Strategy();
  Strategy(const Strategy&) = delete;

  // "MirroredStrategy", say.
  const std::string& name() const { return layout_.name; }
  // Variables made with this scope, or one derived from it, are the strategy's. Between replicas.
  const weir::Scope& Scope() const { return scope_; }
  // All whose gradients make one update, and the devices of those that this graph holds.
  int num_replicas_in_sync() const { return layout_.num_replicas; }
  const std::vector<std::string>& replica_devices() const { return layout_.devices; }
  // All that train, in step or not.
  int num_replicas() const { return std::max(layout_.num_replicas, layout_.all_replicas); }
  // The place of this graph's first replica among all.
  int first_replica() const { return layout_.first_replica; }

  // Calls `function` for each replica of this graph with that replica's part of `inputs`. Gives what it returned, a
  // PerReplica for each value. Afterwards what a replica writes to a variable is aggregated as the variable's options
  // say; INVALID_ARGUMENT where they say nothing.
  std::vector<PerReplica> Run(const ReplicaFunction& function, const std::vector<PerReplica>& inputs = {});

  // One value out of those of all replicas. With `axis` each is reduced along that dimension too; a mean then weighs
  // replicas by their sizes, so that an uneven last batch counts as much as it holds.
  Output Reduce(ReduceOp op, const PerReplica& value, std::optional<int> axis = std::nullopt);

  // The gradients of each replica's loss with respect to all trainable variables.
  PerReplicaGradients ComputeGradients(const Optimizer& optimizer, const PerReplica& loss);
  // Reduces the gradients over all replicas and updates every copy of the variables; adds one to `global_step`. The
  // default is the mean, which belongs to losses that are means over a replica's batch. The operation is one step of
  // the replicas of this graph.
  virtual Operation ApplyGradients(Optimizer& optimizer, const PerReplicaGradients& gradients,
                                   const ResourceVariable& global_step, ReduceOp op = ReduceOp::kMean) = 0;
  Operation Minimize(Optimizer& optimizer, const PerReplica& loss, const ResourceVariable& global_step) {
    return ApplyGradients(optimizer, ComputeGradients(optimizer, loss), global_step);
  }

  // Calls `build` for each replica of this graph with the replica's scope; then the ops that it built use the replica's
  // copies of variables. Run without inputs, values and the care for what is written: for what is built upon
  // strategies.
  void ForEachReplica(const std::function<void(int replica, const weir::Scope& scope)>& build);

 protected:
  // `placement` says where variables go; `initial_value`, if there is one, what they begin with.
  Strategy(const weir::Scope& root, Layout layout, VariablePlacement placement, InitialValue initial_value = nullptr);

  // The sum or mean of `values`, one for each replica of this graph, over all replicas: as one value, and as a value
  // for each replica of this graph.
  virtual Output ReduceToOne(ReduceOp op, const OutputList& values);
  virtual OutputList AllReduce(ReduceOp op, const OutputList& values);

  // The gradients variable by variable, checked; without those variables that have none.
  struct VariableGradients {
    ResourceVariable variable;
    std::vector<Gradient> parts;  // one for each replica of this graph
  };
  std::vector<VariableGradients> ByVariable(const PerReplicaGradients& gradients) const;
  // Lets the optimizer make its slots between replicas: it makes them once, not anew in each.
  void MakeSlots(Optimizer& optimizer, const std::vector<VariableGradients>& gradients) const;

  // What is to be done with the ops that replica `i` of this graph has built: by default they get its own variables.
  virtual absl::Status FinishReplica(const GraphRegion& region, int i);

  const StrategyVariables& variables() const { return *variables_; }
  int num_local() const { return static_cast<int>(layout_.devices.size()); }

 private:
  absl::Status ResolveReductions(const PendingReductions& reductions, const ReplicaWrites& writes);
  // How many values a mean of ReduceToOne is of.
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
