// A model function's assignments to variables that replicas share or keep equal.
#pragma once

#include <functional>
#include <vector>

#include "client/graph_region.h"
#include "client/strategy/per_replica.h"
#include "client/strategy/strategy_variables.h"

namespace weir {

// Aggregates the assignments of all replicas according to the variables' aggregation: copies synchronised on write all
// get the aggregate, a single variable gets it once. A replica's private copy is not changed.
class ReplicaWrites {
 public:
  // Replicas from `first_replica` on are built in this graph.
  ReplicaWrites(const StrategyVariables* variables, std::string strategy, int num_local, int first_replica,
                int num_replicas)
      : variables_(variables),
        strategy_(std::move(strategy)),
        first_replica_(first_replica),
        num_replicas_(num_replicas),
        by_replica_(num_local) {}

  // Collects the assignments that replica `i` of this graph has built. InvalidArgument for an assignment to a variable
  // without aggregation, or within control flow or a function, and for updates other than assignments.
  absl::Status Collect(const GraphRegion& region, int i);

  using AllReduce = std::function<OutputList(ReduceOp op, const OutputList& values)>;
  absl::Status Aggregate(const Scope& scope, const AllReduce& all_reduce) const;

 private:
  struct Write {
    ResourceVariable variable;
    Node* node;  // its input 1 is the value
    Output value;
  };
  bool IsPerReplica(const ResourceVariable& variable) const;
  absl::Status CheckCalls(const Graph& graph, const Node& node, int i) const;
  absl::Status CheckAlike() const;
  OutputList OfFirstReplica(const Scope& scope, const OutputList& values) const;
  // The parts that replicas add to one variable.
  OutputList Shares(const Scope& scope, VariableAggregation aggregation, const OutputList& values) const;

  const StrategyVariables* const variables_;
  const std::string strategy_;
  const int first_replica_, num_replicas_;
  std::vector<std::vector<Write>> by_replica_;
};

}  // namespace weir
