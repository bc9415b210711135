#include "client/strategy/replica_writes.h"

#include "absl/strings/match.h"
#include "client/ops.h"
#include "client/strategy/reduction.h"
#include "graph/function_library.h"
#include "graph/graph.h"

namespace weir {
namespace {

enum class Effect { kReads, kAssigns, kAdds, kUpdates };

// The effect of an op on the variable whose handle is its input 0.
Effect EffectOf(absl::string_view op) {
  if (op == "AssignVariableOp") return Effect::kAssigns;
  if (op == "AssignAddVariableOp" || op == "AssignSubVariableOp") return Effect::kAdds;
  const bool gathers = absl::StartsWith(op, "ResourceGather");
  return absl::StartsWith(op, "Resource") && !gathers ? Effect::kUpdates : Effect::kReads;
}

// The origin of a handle, through nodes that forward it. `conditional`: it may not run, or run repeatedly.
Output OriginOf(const Edge& edge, bool* conditional) {
  *conditional = false;
  Output handle(edge.src, edge.src_output);
  for (;;) {
    const Node& node = *handle.node();
    const bool gates = node.op() == "Switch" || node.op() == "Enter";
    if ((!gates && node.op() != "Identity") || node.input_edge(0) == nullptr) return handle;
    *conditional |= gates;
    handle = Output(node.input_edge(0)->src, node.input_edge(0)->src_output);
  }
}

// Whether functions that `node` calls (If, While, PartitionedCall, ...) assign to variables.
bool CallsWriters(const Graph& graph, const Node& node) {
  std::vector<std::string> called;
  for (const auto& [name, value] : node.def().attr()) {
    if (value.has_func()) called.push_back(value.func().name());
    for (const auto& function : value.list().func()) called.push_back(function.name());
  }
  if (called.empty()) return false;
  const FunctionLibrary reachable = graph.functions().ReachableFrom(called);
  for (const std::string& name : reachable.Names()) {
    for (const tensorflow::NodeDef& inner : reachable.Find(name)->node_def()) {
      if (EffectOf(inner.op()) != Effect::kReads) return true;
    }
  }
  return false;
}

}  // namespace

bool ReplicaWrites::IsPerReplica(const ResourceVariable& variable) const {
  return variable.options().synchronization == VariableSynchronization::kOnRead &&
         variable.copies().size() + 1 == by_replica_.size();
}

absl::Status ReplicaWrites::Collect(const GraphRegion& region, int i) {
  if (num_replicas_ == 1) return absl::OkStatus();
  for (int id = region.first; id < region.last; ++id) {
    Node* node = region.graph->node(id);
    if (node == nullptr || node->num_inputs() == 0 || node->input_edge(0) == nullptr) continue;
    RETURN_IF_ERROR(CheckCalls(*region.graph, *node, i));
    const Effect effect = EffectOf(node->op());
    if (effect == Effect::kReads) continue;
    bool conditional = false;
    const ResourceVariable* variable = variables_->Find(OriginOf(*node->input_edge(0), &conditional));
    if (variable == nullptr || IsPerReplica(*variable)) continue;
    if (variables_->IsPartOf(*variable, *node)) continue;
    const std::string what =
        absl::StrCat("Under ", strategy_, " '", node->name(), "' (", node->op(), ") writes the variable '",
                     variable->name(), "' in replica ", first_replica_ + i);
    if (effect == Effect::kUpdates) {
      return errors::InvalidArgument(what, ": optimizers update through Strategy::ApplyGradients, outside of replicas");
    }
    if (variable->options().aggregation == VariableAggregation::kNone) {
      return errors::InvalidArgument(what,
                                     ", and the variable has no aggregation: give VariableOptions one, or make it "
                                     "synchronised on read, or write it outside of Run");
    }
    if (conditional) {
      return errors::InvalidArgument(what,
                                     " within a Cond or a WhileLoop, where the replicas cannot agree upon it: assign "
                                     "after it, or make the variable synchronised on read");
    }
    const Edge& value = *node->input_edge(1);
    by_replica_[i].push_back({*variable, node, Output(value.src, value.src_output)});
  }
  return absl::OkStatus();
}

absl::Status ReplicaWrites::CheckCalls(const Graph& graph, const Node& node, int i) const {
  for (int input = 0; input < node.num_inputs(); ++input) {
    const Edge* edge = node.input_edge(input);
    if (edge == nullptr || edge->src->output_type(edge->src_output) != DT_RESOURCE) continue;
    bool conditional = false;
    const ResourceVariable* variable = variables_->Find(OriginOf(*edge, &conditional));
    if (variable == nullptr || IsPerReplica(*variable) || !CallsWriters(graph, node)) continue;
    return errors::InvalidArgument("Under ", strategy_, " '", node.name(), "' (", node.op(), ") of replica ",
                                   first_replica_ + i, " gives the variable '", variable->name(),
                                   "' to functions that assign to variables, which the replicas cannot agree upon: "
                                   "assign outside of functions, or make the variable synchronised on read");
  }
  return absl::OkStatus();
}

absl::Status ReplicaWrites::CheckAlike() const {
  for (size_t i = 1; i < by_replica_.size(); ++i) {
    const auto &writes = by_replica_[i], &first = by_replica_[0];
    bool alike = writes.size() == first.size();
    for (size_t k = 0; alike && k < first.size(); ++k) {
      alike = writes[k].variable.handle() == first[k].variable.handle() && writes[k].node->op() == first[k].node->op();
    }
    if (!alike) {
      return errors::InvalidArgument("Under ", strategy_, " replicas ", first_replica_ + i, " and ", first_replica_,
                                     " do not write the same variables in the same order");
    }
  }
  return absl::OkStatus();
}

absl::Status ReplicaWrites::Aggregate(const Scope& scope, const AllReduce& all_reduce) const {
  RETURN_IF_ERROR(CheckAlike());
  for (size_t k = 0; k < by_replica_[0].size(); ++k) {
    const ResourceVariable& variable = by_replica_[0][k].variable;
    const VariableAggregation aggregation = variable.options().aggregation;
    OutputList values;
    for (const auto& writes : by_replica_) values.push_back(writes[k].value);
    const bool one_for_all = variable.copies().empty() && by_replica_.size() > 1;
    if (one_for_all && EffectOf(by_replica_[0][k].node->op()) == Effect::kAdds) {
      values = Shares(scope, aggregation, values);
    } else if (aggregation == VariableAggregation::kOnlyFirstReplica) {
      values = all_reduce(ReduceOp::kSum, OfFirstReplica(scope, values));
    } else {
      values = all_reduce(aggregation == VariableAggregation::kSum ? ReduceOp::kSum : ReduceOp::kMean, values);
    }
    RETURN_IF_ERROR(scope.status());
    for (size_t i = 0; i < by_replica_.size(); ++i) {
      RETURN_IF_ERROR(scope.graph()->ReplaceInput(by_replica_[i][k].node, 1, values[i].node(), values[i].index()));
    }
  }
  return absl::OkStatus();
}

OutputList ReplicaWrites::OfFirstReplica(const Scope& scope, const OutputList& values) const {
  OutputList result;
  for (size_t i = 0; i < values.size(); ++i) {
    result.push_back(first_replica_ + i == 0 ? values[i] : ops::ZerosLike(scope, values[i]));
  }
  return result;
}

OutputList ReplicaWrites::Shares(const Scope& scope, VariableAggregation aggregation, const OutputList& values) const {
  if (aggregation == VariableAggregation::kSum) return values;
  if (aggregation == VariableAggregation::kOnlyFirstReplica) return OfFirstReplica(scope, values);
  OutputList result;
  for (const Output& value : values) result.push_back(ReduceValues(scope, ReduceOp::kMean, {value}, num_replicas_));
  return result;
}

}  // namespace weir
