#include "graph/control_flow.h"

#include <deque>

#include "absl/container/flat_hash_map.h"
#include "core/op/attr_value.h"

namespace weir {
namespace {

constexpr int kUnknown = -1;

// Walks the graph from its roots along edges; the first input with a known frame determines a node's frame.
class Analysis {
 public:
  explicit Analysis(const Graph& graph) : graph_(graph) {
    info_.frames.push_back(LoopFrame());
    info_.frame_of.assign(graph.num_node_ids(), kUnknown);
  }

  absl::StatusOr<ControlFlowInfo> Run() {
    for (Node* node : graph_.nodes()) {
      if (node->in_edges().empty()) RETURN_IF_ERROR(Assign(node, /*input_frame=*/0));
    }
    while (!queue_.empty()) {
      Node* node = queue_.front();
      queue_.pop_front();
      const int frame = info_.OutputFrame(*node);
      for (const Edge* edge : node->out_edges()) RETURN_IF_ERROR(Assign(edge->dst, frame));
    }
    for (int& frame : info_.frame_of) {
      if (frame == kUnknown) frame = 0;  // reachable only from a cycle without an Enter: it never runs
    }
    return std::move(info_);
  }

 private:
  absl::Status Assign(Node* node, int input_frame) {
    int frame = input_frame;
    if (node->IsEnter()) {
      ASSIGN_OR_RETURN(frame, EnterFrame(node, input_frame));
    } else if (node->IsExit() && input_frame == 0) {
      return errors::InvalidArgument("Node '", node->name(), "' (", node->op(), ") exits a loop that it did not enter");
    }
    int& known = info_.frame_of[node->id()];
    if (known == frame) return absl::OkStatus();
    if (known != kUnknown) {
      return errors::InvalidArgument("The node '", node->name(), "' has inputs from different frames: '",
                                     info_.frames[known].name, "' and '", info_.frames[frame].name,
                                     "'. A value enters a loop only through an Enter node");
    }
    known = frame;
    if (node->IsLoopCond() && info_.frames[frame].loop_cond == nullptr) info_.frames[frame].loop_cond = node;
    queue_.push_back(node);
    return absl::OkStatus();
  }

  absl::StatusOr<int> EnterFrame(Node* node, int parent) {
    std::string name;
    RETURN_IF_ERROR(GetNodeAttr(node->def(), "frame_name", &name));
    auto [it, inserted] = by_name_.try_emplace(name, info_.frames.size());
    if (inserted) {
      LoopFrame frame{.name = name, .parent = parent};
      RETURN_IF_ERROR(GetNodeAttr(node->def(), "parallel_iterations", &frame.parallel_iterations));
      info_.frames.push_back(std::move(frame));
    } else if (info_.frames[it->second].parent != parent) {
      return errors::InvalidArgument("Node '", node->name(), "' enters the loop frame '", name,
                                     "' from another frame than the loop's other Enter nodes");
    }
    return it->second;
  }

  const Graph& graph_;
  ControlFlowInfo info_;
  std::deque<Node*> queue_;
  absl::flat_hash_map<std::string, int> by_name_;
};

}  // namespace

int ControlFlowInfo::InputFrame(const Node& node) const {
  const int frame = frame_of[node.id()];
  return node.IsEnter() ? frames[frame].parent : frame;
}

int ControlFlowInfo::OutputFrame(const Node& node) const {
  const int frame = frame_of[node.id()];
  return node.IsExit() ? frames[frame].parent : frame;
}

absl::StatusOr<ControlFlowInfo> AnalyzeControlFlow(const Graph& graph) { return Analysis(graph).Run(); }

}  // namespace weir
