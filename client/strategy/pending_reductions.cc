#include "client/strategy/pending_reductions.h"

#include "client/ops.h"
#include "graph/graph.h"

namespace weir {

Output PendingReductions::Add(const Scope& scope, ReduceOp op, const Output& value) {
  const Output result = ops::PreventGradient(
      scope.WithName("all_reduce"), value,
      {.message = "Gradients do not flow through ReplicaContext::AllReduce: reduce the gradients instead"});
  if (scope.ok()) by_replica_[current_].push_back({op, value, result.node()});
  return result;
}

absl::Status PendingReductions::Resolve(const Scope& scope, const AllReduce& all_reduce) const {
  RETURN_IF_ERROR(Check());
  for (size_t k = 0; k < by_replica_[0].size(); ++k) {
    OutputList parts;
    for (const auto& reductions : by_replica_) parts.push_back(reductions[k].part);
    const OutputList results = all_reduce(by_replica_[0][k].op, parts);
    RETURN_IF_ERROR(scope.status());
    for (size_t i = 0; i < by_replica_.size(); ++i) {
      RETURN_IF_ERROR(scope.graph()->ReplaceInput(by_replica_[i][k].node, 0, results[i].node(), results[i].index()));
    }
  }
  return absl::OkStatus();
}

absl::Status PendingReductions::Check() const {
  const auto& first = by_replica_[0];
  for (size_t i = 1; i < by_replica_.size(); ++i) {
    const auto& reductions = by_replica_[i];
    if (reductions.size() != first.size()) {
      return errors::InvalidArgument("Replica ", i, " calls AllReduce ", reductions.size(), " times and replica 0 ",
                                     first.size(), " times: all replicas call it in the same places");
    }
    for (size_t k = 0; k < first.size(); ++k) {
      if (reductions[k].op != first[k].op || reductions[k].part.type() != first[k].part.type()) {
        return errors::InvalidArgument("AllReduce ", k, " ('", reductions[k].node->name(), "') of replica ", i,
                                       " is a ", reductions[k].op == ReduceOp::kSum ? "sum" : "mean", " of ",
                                       DataTypeName(reductions[k].part.type()), ", and that of replica 0 a ",
                                       first[k].op == ReduceOp::kSum ? "sum" : "mean", " of ",
                                       DataTypeName(first[k].part.type()));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace weir
