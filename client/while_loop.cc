#include "client/while_loop.h"

#include "absl/container/flat_hash_map.h"
#include "client/graph_region.h"
#include "client/ops.h"
#include "graph/graph.h"

namespace weir {
namespace {

class LoopBuilder {
 public:
  LoopBuilder(const Scope& scope, const WhileLoopOptions& options)
      : outer_(scope.SubScope(options.name)),
        scope_(outer_.WithNoControlDependencies()),
        graph_(scope.graph()),
        outside_end_(graph_->num_node_ids()),
        frame_name_(scope_.name()),
        parallel_iterations_(options.parallel_iterations) {}

  absl::StatusOr<OutputList> Build(const OutputList& loop_vars, const LoopCondition& condition, const LoopBody& body) {
    RETURN_IF_ERROR(Enter(loop_vars));
    RETURN_IF_ERROR(AddCondition(condition));
    for (const Output& merge : merges_) {
      const ops::SwitchResult choice = ops::Switch(scope_, merge, condition_);
      exits_.push_back(ops::Exit(scope_, choice.output_false));
      values_.push_back(ops::Identity(scope_, choice.output_true));
    }
    RETURN_IF_ERROR(scope_.status());
    RETURN_IF_ERROR(AddBody(body));
    return exits_;
  }

 private:
  absl::Status Enter(const OutputList& loop_vars) {
    if (loop_vars.empty()) return errors::InvalidArgument("The while loop '", frame_name_, "' has no loop variables");
    for (const Output& value : loop_vars) {
      if (!value.valid()) return errors::InvalidArgument("A variable of '", frame_name_, "' was never built");
      const Output enter = ops::Enter(outer_, value, frame_name_, {.parallel_iterations = parallel_iterations_});
      merges_.push_back(ops::Merge(scope_, {enter, enter}).output);  // the second input becomes the back edge
      RETURN_IF_ERROR(scope_.status());
      entries_.push_back(enter.node());
    }
    return absl::OkStatus();
  }

  absl::Status AddCondition(const LoopCondition& condition) {
    const int first = graph_->num_node_ids();
    const Output more = condition(scope_.SubScope("cond"), merges_);
    RETURN_IF_ERROR(scope_.status());
    if (!more.valid() || more.type() != DT_BOOL) {
      return errors::InvalidArgument("The condition of '", frame_name_, "' must be a bool");
    }
    condition_ = ops::LoopCond(scope_, more);
    RETURN_IF_ERROR(scope_.status());
    return CutOff(first, merges_[0].node());
  }

  absl::Status AddBody(const LoopBody& body) {
    const int first = graph_->num_node_ids();
    const OutputList next = body(scope_.SubScope("body"), values_);
    RETURN_IF_ERROR(scope_.status());
    if (next.size() != merges_.size()) {
      return errors::InvalidArgument("The body of '", frame_name_, "' returns ", next.size(), " values for ",
                                     merges_.size(), " loop variables");
    }
    for (size_t i = 0; i < next.size(); ++i) {
      if (next[i].type() != merges_[i].type()) {
        return errors::InvalidArgument("Loop variable ", i, " of '", frame_name_, "' is ",
                                       DataTypeName(merges_[i].type()), ", but its next value is ",
                                       DataTypeName(next[i].type()));
      }
      // A value from outside needs a node of its own that waits for the iteration.
      const Output value = next[i].node()->id() < outside_end_ ? ops::Identity(scope_, next[i]) : next[i];
      const Output back = ops::NextIteration(scope_, value);
      RETURN_IF_ERROR(scope_.status());
      RETURN_IF_ERROR(graph_->ReplaceInput(merges_[i].node(), 1, back.node(), 0));
    }
    return CutOff(first, values_[0].node());
  }

  absl::Status CutOff(int first, Node* pivot) {
    const GraphRegion region{
        .graph = graph_, .outside_end = outside_end_, .first = first, .last = graph_->num_node_ids()};
    RETURN_IF_ERROR(region.RerouteInputs([this](const Output& outside) { return BringIn(outside); }));
    region.MoveControlInputs(entries_);
    region.PinTo(pivot);
    return absl::OkStatus();
  }

  absl::StatusOr<Output> BringIn(const Output& outside) {
    Output& inside = brought_in_[outside];
    if (!inside.valid()) {
      // A value is copied to the loop's device once, before the loop. A variable stays where it is.
      const bool is_value = outside.type() != DT_RESOURCE && !IsRefType(outside.node()->output_type(outside.index()));
      const Scope place = is_value ? scope_ : scope_.WithDevice(outside.node()->requested_device());
      inside =
          ops::Enter(place, outside, frame_name_, {.is_constant = true, .parallel_iterations = parallel_iterations_});
    }
    RETURN_IF_ERROR(scope_.status());
    return inside;
  }

  const Scope outer_, scope_;
  Graph* const graph_;
  const int outside_end_;
  const std::string frame_name_;
  const int64_t parallel_iterations_;
  std::vector<Node*> entries_;
  OutputList merges_, values_, exits_;
  Output condition_;
  absl::flat_hash_map<Output, Output> brought_in_;
};

}  // namespace

OutputList WhileLoop(const Scope& scope, const OutputList& loop_vars, const LoopCondition& condition,
                     const LoopBody& body, const WhileLoopOptions& options) {
  if (!scope.ok()) return {};
  absl::StatusOr<OutputList> last = LoopBuilder(scope, options).Build(loop_vars, condition, body);
  if (last.ok()) return *std::move(last);
  scope.UpdateStatus(last.status());
  return {};
}

}  // namespace weir
