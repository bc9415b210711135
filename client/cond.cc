#include "client/cond.h"

#include "absl/container/flat_hash_map.h"
#include "client/graph_region.h"
#include "client/ops.h"
#include "graph/graph.h"

namespace weir {
namespace {

class CondBuilder {
 public:
  CondBuilder(const Scope& scope, const Output& predicate, const std::string& name)
      : scope_(scope.SubScope(name)),
        graph_(scope.graph()),
        outside_end_(graph_->num_node_ids()),
        predicate_(predicate) {}

  absl::StatusOr<OutputList> Build(const BranchFunction& if_true, const BranchFunction& if_false) {
    if (!predicate_.valid() || predicate_.type() != DT_BOOL) {
      return errors::InvalidArgument("The predicate of '", scope_.name(), "' must be a bool");
    }
    const ops::SwitchResult choice = ops::Switch(scope_, predicate_, predicate_);
    const Output taken[] = {choice.output_false, choice.output_true};
    RETURN_IF_ERROR(scope_.status());
    ASSIGN_OR_RETURN(const OutputList when_true, AddBranch(1, taken[1], if_true));
    ASSIGN_OR_RETURN(const OutputList when_false, AddBranch(0, taken[0], if_false));
    return Join(when_false, when_true);
  }

 private:
  absl::StatusOr<OutputList> AddBranch(int branch, const Output& taken, const BranchFunction& function) {
    const Scope inside = scope_.WithNoControlDependencies().SubScope(branch == 1 ? "true" : "false");
    const Output pivot = ops::Identity(inside.WithName("pivot"), taken);
    RETURN_IF_ERROR(scope_.status());
    const int first = graph_->num_node_ids();
    OutputList results = function(inside);
    RETURN_IF_ERROR(scope_.status());
    const GraphRegion region{
        .graph = graph_, .outside_end = outside_end_, .first = first, .last = graph_->num_node_ids()};
    const auto bring_in = [&](const Output& outside) { return BringIn(outside, branch); };
    RETURN_IF_ERROR(region.RerouteInputs(bring_in));
    region.PinTo(pivot.node());
    for (Output& result : results) {
      if (!result.valid()) return errors::InvalidArgument("A result of '", inside.name(), "' was never built");
      if (!region.IsOutside(*result.node())) continue;
      ASSIGN_OR_RETURN(result, BringIn(result, branch));
    }
    return results;
  }

  absl::StatusOr<Output> BringIn(const Output& outside, int branch) {
    Operation& choice = brought_in_[outside];
    if (!choice.valid()) {
      const Scope beside = scope_.WithDevice(outside.node()->requested_device());
      choice = ops::Switch(beside, outside, predicate_).operation;
    }
    RETURN_IF_ERROR(scope_.status());
    return Output(choice, branch);
  }

  absl::StatusOr<OutputList> Join(const OutputList& when_false, const OutputList& when_true) {
    if (when_false.size() != when_true.size()) {
      return errors::InvalidArgument("The branches of '", scope_.name(), "' return ", when_true.size(), " and ",
                                     when_false.size(), " values");
    }
    OutputList joined;
    for (size_t i = 0; i < when_true.size(); ++i) {
      if (when_true[i].type() != when_false[i].type()) {
        return errors::InvalidArgument("Value ", i, " of '", scope_.name(), "' is ", DataTypeName(when_true[i].type()),
                                       " in one branch and ", DataTypeName(when_false[i].type()), " in the other");
      }
      joined.push_back(ops::Merge(scope_.WithNoControlDependencies(), {when_false[i], when_true[i]}).output);
    }
    RETURN_IF_ERROR(scope_.status());
    return joined;
  }

  const Scope scope_;
  Graph* const graph_;
  const int outside_end_;
  const Output predicate_;
  absl::flat_hash_map<Output, Operation> brought_in_;
};

}  // namespace

OutputList Cond(const Scope& scope, const Output& predicate, const BranchFunction& if_true,
                const BranchFunction& if_false, const std::string& name) {
  if (!scope.ok()) return {};
  absl::StatusOr<OutputList> joined = CondBuilder(scope, predicate, name).Build(if_true, if_false);
  if (joined.ok()) return *std::move(joined);
  scope.UpdateStatus(joined.status());
  return {};
}

}  // namespace weir
