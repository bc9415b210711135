// Reductions by collective ops, among devices of one graph and among the graphs of several workers.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "client/graph_region.h"
#include "client/scope.h"
#include "client/strategy/communication_options.h"
#include "client/strategy/per_replica.h"
#include "graph/gradients/gradient.h"

namespace weir {

// A group of ranks, some of which are in this graph. Every call adds collectives. All graphs of the group must make the
// same calls in the same order, so that their instance keys match. Not thread-safe.
class CollectiveReduction {
 public:
  // Instance keys of the group start at `first_instance_key`.
  CollectiveReduction(int group_size, int group_key, int first_instance_key, CommunicationOptions options = {})
      : group_size_(group_size),
        group_key_(group_key),
        options_(std::move(options)),
        next_instance_key_(first_instance_key) {}

  // The sum or mean over all ranks; scopes[i] and values[i] are those of this graph's ranks.
  OutputList AllReduce(const std::vector<Scope>& scopes, ReduceOp op, const OutputList& values) {
    return AllReduce(scopes, op, values, "");
  }
  // Concatenates the rows of all ranks, which may have different numbers of rows.
  OutputList AllGatherRows(const std::vector<Scope>& scopes, const OutputList& values) {
    return AllGatherRows(scopes, values, "");
  }
  // gradients[k][i]: of variable k, with shape shapes[k], at rank i. Dense ones are packed as the options say.
  std::vector<std::vector<Gradient>> AllReduceGradients(const std::vector<Scope>& scopes, ReduceOp op,
                                                        const std::vector<std::vector<Gradient>>& gradients,
                                                        const std::vector<TensorShape>& shapes);
  // Returns the value of the one rank that passes it; other ranks pass none.
  Output Broadcast(const Scope& scope, const Output& value, const TensorShape& shape, DataType dtype);

  // The region's collectives begin their groups anew (CollectiveParams::begins_anew).
  static void BeginAnew(const GraphRegion& region);

  int group_size() const { return group_size_; }

 private:
  // With wire format `wire`.
  OutputList AllReduce(const std::vector<Scope>& scopes, ReduceOp op, const OutputList& values,
                       const std::string& wire);
  OutputList AllGatherRows(const std::vector<Scope>& scopes, const OutputList& values, const std::string& wire);
  OutputList Gather(const std::vector<Scope>& scopes, const OutputList& values, const std::string& wire);
  std::vector<Gradient> AllReduceSparse(const std::vector<Scope>& scopes, ReduceOp op,
                                        const std::vector<Gradient>& parts);
  // Sets results[k] for each k in `pack`.
  void AllReducePack(const std::vector<Scope>& scopes, ReduceOp op, const std::vector<std::vector<Gradient>>& gradients,
                     const std::vector<TensorShape>& shapes, const std::vector<int>& pack,
                     std::vector<std::vector<Gradient>>* results);
  float timeout() const { return static_cast<float>(options_.timeout_seconds); }

  const int group_size_, group_key_;
  const CommunicationOptions options_;
  int next_instance_key_;
};

}  // namespace weir
