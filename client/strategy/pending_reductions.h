// Reductions requested within a replica before the other replicas are built.
#pragma once

#include <functional>
#include <vector>

#include "client/scope.h"
#include "client/strategy/per_replica.h"

namespace weir {

// Within a replica a reduction is a node that forwards the replica's own part. When all replicas are built, the k-th
// node of each is replaced by the reduction of all k-th parts.
class PendingReductions {
 public:
  explicit PendingReductions(int num_replicas) : by_replica_(num_replicas) {}

  bool empty() const { return by_replica_[0].empty(); }
  void BeginReplica(int replica) { current_ = replica; }
  Output Add(const Scope& scope, ReduceOp op, const Output& value);

  // `all_reduce` returns one value per replica. InvalidArgument if replicas differ in number, type or kind of
  // reductions.
  using AllReduce = std::function<OutputList(ReduceOp op, const OutputList& values)>;
  absl::Status Resolve(const Scope& scope, const AllReduce& all_reduce) const;

 private:
  struct Reduction {
    ReduceOp op;
    Output part;
    Node* node;
  };
  absl::Status Check() const;

  std::vector<std::vector<Reduction>> by_replica_;
  int current_ = 0;
};

}  // namespace weir
