// What a model function writes to variables that all replicas share, or that are to stay equal.
#pragma once

#include <functional>
#include <vector>

#include "client/graph_region.h"
#include "client/strategy/per_replica.h"
#include "client/strategy/strategy_variables.h"

namespace weir {

// The assignments of all replicas, made to agree with the variables' aggregation: with copies that are synchronised on
// write each copy gets the aggregate; a single variable gets it once. A replica's own copy is left alone.
class ReplicaWrites {
 public:
  // Of these replicas `first_replica` and the following are built in this graph.
  ReplicaWrites(const StrategyVariables* variables, std::string strategy, int num_local, int first_replica,
                int num_replicas)
      : variables_(variables),
        strategy_(std::move(strategy)),
        first_replica_(first_replica),
        num_replicas_(num_replicas),
        by_replica_(num_local) {}

  // Finds the assignments in what replica `i` of this graph has built. InvalidArgument for one to a variable without
  // aggregation, for one within control flow or a function, and for updates other than assignments.
  absl::Status Collect(const GraphRegion& region, int i);

  using AllReduce = std::function<OutputList(ReduceOp op, const OutputList& values)>;
  absl::Status Aggregate(const Scope& scope, const AllReduce& all_reduce) const;

 private:
  struct Write {
    ResourceVariable variable;
    Node* node;  // its input 1 is what is written
    Output value;
  };
  bool IsPerReplica(const ResourceVariable& variable) const;
  absl::Status CheckCalls(const Graph& graph, const Node& node, int i) const;
  absl::Status CheckAlike() const;
  OutputList OfFirstReplica(const Scope& scope, const OutputList& values) const;
  // One variable, to which each replica adds its part.
  OutputList Shares(const Scope& scope, VariableAggregation aggregation, const OutputList& values) const;

  const StrategyVariables* const variables_;
  const std::string strategy_;
  const int first_replica_, num_replicas_;
  std::vector<std::vector<Write>> by_replica_;
};

}  // namespace weir
