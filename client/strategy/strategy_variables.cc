#include "client/strategy/strategy_variables.h"

#include "absl/strings/str_cat.h"
#include "core/op/attr_value.h"
#include "graph/graph.h"

namespace weir {
namespace {

std::string Describe(absl::string_view name, const TensorShape& shape, DataType dtype) {
  return absl::StrCat("'", name, "' ", DataTypeName(dtype), shape.ToString());
}

std::string LocationOf(const ResourceVariable& variable) {
  return absl::StrCat("loc:@", variable.handle().op().name());
}

// Moves ops from the variable's device to the copy's.
void MoveDevice(const Node& from, const Node& to, Node* user) {
  if (!from.requested_device().empty() && user->requested_device() == from.requested_device()) {
    user->mutable_def()->set_device(to.requested_device());
  }
}

}  // namespace

class StrategyVariables::Policy : public VariablePolicy {
 public:
  Policy(std::shared_ptr<StrategyVariables> variables, bool in_replica)
      : variables_(std::move(variables)), in_replica_(in_replica) {}

  ResourceVariable Make(const Scope& scope, const TensorShape& shape, DataType dtype, const Initializer& initializer,
                        const VariableOptions& options) override {
    return in_replica_ ? variables_->MakeInReplica(scope, shape, dtype, initializer, options)
                       : variables_->Make(scope, shape, dtype, initializer, options);
  }
  bool in_replica() const override { return in_replica_; }

 private:
  const std::shared_ptr<StrategyVariables> variables_;
  const bool in_replica_;
};

std::shared_ptr<VariablePolicy> StrategyVariables::BetweenReplicas(std::shared_ptr<StrategyVariables> variables) {
  return std::make_shared<Policy>(std::move(variables), false);
}

std::shared_ptr<VariablePolicy> StrategyVariables::InReplica(std::shared_ptr<StrategyVariables> variables) {
  return std::make_shared<Policy>(std::move(variables), true);
}

void StrategyVariables::BeginReplicas() { made_.clear(); }

void StrategyVariables::BeginReplica(int replica) {
  replica_ = replica;
  num_made_ = 0;
}

absl::Status StrategyVariables::EndReplica(absl::string_view strategy) {
  if (num_made_ == made_.size()) return absl::OkStatus();
  return errors::InvalidArgument("Under ", strategy, " replica ", replica_, " made ", num_made_,
                                 " variables and replica 0 ", made_.size(), ", of which '",
                                 made_[num_made_].variable.name(),
                                 "' is the first that is missing: a model function makes the same variables in the "
                                 "same order in every replica");
}

ResourceVariable StrategyVariables::Make(const Scope& scope, const TensorShape& shape, DataType dtype,
                                         const Initializer& initializer, const VariableOptions& options) {
  VariableOptions placed = options;
  const Scope there = placement_(scope, shape, dtype, &placed).WithVariablePolicy(nullptr);
  const ResourceVariable variable =
      ResourceVariable::Make(there, shape, dtype, initial_value_ ? initial_value_(initializer) : initializer, placed);
  if (scope.ok()) List(variable, *scope.graph());
  return variable;
}

ResourceVariable StrategyVariables::MakeInReplica(const Scope& scope, const TensorShape& shape, DataType dtype,
                                                  const Initializer& initializer, const VariableOptions& options) {
  if (!scope.ok()) return {};
  const std::string& wanted_name = scope.op_name();
  if (replica_ == 0) {
    made_.push_back({Make(scope, shape, dtype, initializer, options), wanted_name});
    ++num_made_;
    return made_.back().variable;
  }
  if (num_made_ == made_.size()) {
    scope.UpdateStatus(errors::InvalidArgument(
        "Replica ", replica_, " makes the variable ", Describe(wanted_name, shape, dtype), ", and replica 0 made only ",
        made_.size(), ": a model function makes the same variables in the same order in every replica"));
    return {};
  }
  const Made& first = made_[num_made_];
  if (first.wanted_name != wanted_name || first.variable.shape() != shape || first.variable.dtype() != dtype) {
    scope.UpdateStatus(errors::InvalidArgument(
        "Variable ", num_made_, " of replica ", replica_, " is ", Describe(wanted_name, shape, dtype),
        ", and that of replica 0 is ", Describe(first.wanted_name, first.variable.shape(), first.variable.dtype()),
        " ('", first.variable.name(),
        "'): a model function makes the same variables in the same order in every replica"));
    return {};
  }
  ++num_made_;
  return first.variable;
}

void StrategyVariables::List(const ResourceVariable& variable, const Graph& graph) {
  by_handle_[variable.handle()] = by_value_[variable.value()] = static_cast<int>(all_.size());
  all_.push_back({variable, graph.num_node_ids()});
  if (variable.copies().empty()) return;
  OutputList& handles = outputs_of_copies_[variable.handle()];
  for (const ResourceVariable& copy : variable.copies()) handles.push_back(copy.handle());
  OutputList& values = outputs_of_copies_[variable.value()];
  for (const ResourceVariable& copy : variable.copies()) values.push_back(copy.value());
  std::vector<std::string>& locations = locations_of_copies_[LocationOf(variable)];
  for (const ResourceVariable& copy : variable.copies()) locations.push_back(LocationOf(copy));
}

absl::Status StrategyVariables::Retarget(const GraphRegion& region, int i) const {
  if (i == 0) return absl::OkStatus();
  for (int id = region.first; id < region.last; ++id) {
    Node* node = region.graph->node(id);
    if (node == nullptr) continue;
    for (int input = 0; input < node->num_inputs(); ++input) {
      const Edge* edge = node->input_edge(input);
      if (edge == nullptr) continue;
      const auto copies = outputs_of_copies_.find(Output(edge->src, edge->src_output));
      if (copies == outputs_of_copies_.end()) continue;
      const Output& own = copies->second[i - 1];
      if (own.type() == DT_RESOURCE) MoveDevice(*edge->src, *own.node(), node);
      RETURN_IF_ERROR(region.graph->ReplaceInput(node, input, own.node(), own.index()));
    }
    const auto locations = node->def().attr().find("_class");
    if (locations == node->def().attr().end()) continue;
    for (std::string& location : *node->mutable_def()->mutable_attr()->at("_class").mutable_list()->mutable_s()) {
      const auto copies = locations_of_copies_.find(location);
      if (copies != locations_of_copies_.end()) location = copies->second[i - 1];
    }
  }
  return absl::OkStatus();
}

absl::Status StrategyVariables::ReadAfter(const Scope& scope, const GraphRegion& region, const Operation& gate) const {
  absl::flat_hash_map<int, Output> reads;
  for (int id = region.first; id < region.last; ++id) {
    Node* node = region.graph->node(id);
    if (node == nullptr || node == gate.node()) continue;
    for (int input = 0; input < node->num_inputs(); ++input) {
      const Edge* edge = node->input_edge(input);
      if (edge == nullptr) continue;
      const Output used(edge->src, edge->src_output);
      if (const ResourceVariable* variable = Find(used); variable != nullptr) {
        if (!IsPartOf(*variable, *node)) region.graph->AddControlEdge(gate.node(), node);
      } else if (const auto found = by_value_.find(used); found != by_value_.end()) {
        const ResourceVariable& read = all_[found->second].variable;
        Output& own = reads[found->second];
        if (!own.valid()) {
          const Scope after = scope.WithControlDependencies(std::vector<Operation>{gate});
          own = read.Read(after.ColocateWith(read.handle().op()).WithName("read"));
          RETURN_IF_ERROR(scope.status());
        }
        RETURN_IF_ERROR(region.graph->ReplaceInput(node, input, own.node(), own.index()));
      }
    }
  }
  return absl::OkStatus();
}

const ResourceVariable* StrategyVariables::Find(const Output& handle) const {
  const auto found = by_handle_.find(handle);
  return found == by_handle_.end() ? nullptr : &all_[found->second].variable;
}

bool StrategyVariables::IsPartOf(const ResourceVariable& variable, const Node& node) const {
  return node.id() < all_[by_handle_.at(variable.handle())].nodes_end;
}

}  // namespace weir
