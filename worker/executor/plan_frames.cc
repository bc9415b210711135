#include "worker/executor/plan_frames.h"

#include "absl/container/flat_hash_map.h"
#include "core/fingerprint.h"
#include "core/op/attr_value.h"
#include "graph/graph.h"

namespace weir {
namespace {

constexpr uint32_t kUnknown = ~0u;
// More iterations in flight gain nothing, and the number comes from the client.
constexpr int kMaxParallelIterations = 256;

class FrameFinder {
 public:
  FrameFinder(const Graph& graph, const std::vector<bool>& settled) : graph_(graph), settled_(settled) {
    result_.of_node.assign(graph.num_node_ids(), kUnknown);
    result_.child_of_enter.assign(graph.num_node_ids(), 0);
    result_.frames.emplace_back();
  }

  absl::StatusOr<FrameAssignment> Run() {
    for (const Node* node : graph_.nodes()) {
      if (settled_[node->id()] || !HasUnsettledInput(*node)) Visit(node, 0);
    }
    while (!pending_.empty()) {
      const Node* node = pending_.back();
      pending_.pop_back();
      RETURN_IF_ERROR(Follow(*node));
    }
    for (const Node* node : graph_.nodes()) {
      if (result_.of_node[node->id()] == kUnknown) {
        return errors::InvalidArgument("Node '", node->name(), "' can never run: it waits for itself");
      }
    }
    return std::move(result_);
  }

 private:
  bool HasUnsettledInput(const Node& node) const {
    for (const Edge* edge : node.in_edges()) {
      if (!settled_[edge->src->id()]) return true;
    }
    return false;
  }

  void Visit(const Node* node, uint32_t frame) {
    result_.of_node[node->id()] = frame;
    pending_.push_back(node);
  }

  absl::Status Follow(const Node& node) {
    if (settled_[node.id()]) return absl::OkStatus();
    uint32_t frame = result_.of_node[node.id()];
    if (node.IsEnter()) {
      ASSIGN_OR_RETURN(frame, ChildFrame(node, frame));
    } else if (node.IsExit()) {
      if (frame == 0)
        return errors::InvalidArgument("Node '", node.name(), "' (", node.op(), ") stands outside of any loop");
      frame = result_.frames[frame].parent;
    }
    for (const Edge* edge : node.out_edges()) {
      uint32_t& reader = result_.of_node[edge->dst->id()];
      if (reader == kUnknown) {
        Visit(edge->dst, frame);
      } else if (reader != frame) {
        return errors::InvalidArgument("{{node ", edge->dst->name(),
                                       "}} has inputs from different frames. The input {{node ", node.name(),
                                       "}} is in frame '", result_.frames[frame].name, "', another is in frame '",
                                       result_.frames[reader].name, "'");
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<uint32_t> ChildFrame(const Node& enter, uint32_t parent) {
    std::string name;
    int64_t parallel = 10;
    RETURN_IF_ERROR(GetNodeAttr(enter.def(), "frame_name", &name));
    if (name.empty()) return errors::InvalidArgument("The Enter ", enter.name(), " must have a frame name");
    RETURN_IF_ERROR(GetNodeAttr(enter.def(), "parallel_iterations", &parallel));
    if (parallel < 1) {
      return errors::InvalidArgument("The Enter ", enter.name(), " has parallel_iterations ", parallel,
                                     "; it must be positive");
    }
    auto [found, is_new] = by_name_.try_emplace(name, static_cast<uint32_t>(result_.frames.size()));
    if (is_new) {
      PlanFrame& frame = result_.frames.emplace_back();
      frame.name = name;
      frame.name_hash = Hash64(name);
      frame.parent = parent;
      frame.place = result_.frames[parent].num_children++;
      frame.parallel_iterations = static_cast<int>(std::min<int64_t>(parallel, kMaxParallelIterations));
    } else if (result_.frames[found->second].parent != parent) {
      return errors::InvalidArgument("Frame '", name, "' is entered from frame '", result_.frames[parent].name,
                                     "' by {{node ", enter.name(), "}} and from frame '",
                                     result_.frames[result_.frames[found->second].parent].name,
                                     "' elsewhere; a frame name belongs to one loop");
    }
    ++result_.frames[found->second].num_enters;
    result_.child_of_enter[enter.id()] = found->second;
    return found->second;
  }

  const Graph& graph_;
  const std::vector<bool>& settled_;
  FrameAssignment result_;
  std::vector<const Node*> pending_;
  absl::flat_hash_map<std::string, uint32_t> by_name_;
};

bool IsBackEdge(const Edge& edge) { return edge.src->IsNextIteration() && edge.dst->IsMerge(); }

}  // namespace

absl::StatusOr<FrameAssignment> AssignFrames(const Graph& graph, const std::vector<bool>& settled) {
  return FrameFinder(graph, settled).Run();
}

absl::Status CheckAcyclic(const Graph& graph) {
  std::vector<int> waiting(graph.num_node_ids(), 0);
  std::vector<const Node*> ready;
  for (const Node* node : graph.nodes()) {
    for (const Edge* edge : node->in_edges()) waiting[node->id()] += !IsBackEdge(*edge);
    if (waiting[node->id()] == 0) ready.push_back(node);
  }
  size_t done = 0;
  while (!ready.empty()) {
    const Node* node = ready.back();
    ready.pop_back();
    ++done;
    for (const Edge* edge : node->out_edges()) {
      if (!IsBackEdge(*edge) && --waiting[edge->dst->id()] == 0) ready.push_back(edge->dst);
    }
  }
  if (done == static_cast<size_t>(graph.num_nodes())) return absl::OkStatus();
  for (const Node* node : graph.nodes()) {
    if (waiting[node->id()] > 0) {
      return errors::InvalidArgument("The graph has a cycle through or before {{node ", node->name(),
                                     "}}; only NextIteration may lead back to a Merge");
    }
  }
  return absl::OkStatus();
}

}  // namespace weir
