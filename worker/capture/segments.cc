#include "worker/capture/segments.h"

#include <algorithm>
#include <map>
#include <utility>

#include "graph/liveness.h"

namespace weir {
namespace {

class SegmentFinder {
 public:
  SegmentFinder(const Graph& graph, const std::vector<CaptureRole>& roles, const SegmentOptions& options)
      : graph_(graph),
        roles_(roles),
        options_(options),
        level_(graph.num_node_ids(), 0),
        liveness_(graph, [&roles](const Node& node) { return roles[node.id()] == CaptureRole::kWaits; }) {}

  std::vector<std::vector<Node*>> Run() {
    std::map<std::pair<int, const LivenessConditions*>, size_t> position;
    std::vector<std::vector<Node*>> segments;
    for (Node* node : ForwardOrder(graph_)) {
      if (IsFreeConstant(*node)) continue;
      Visit(*node);
      if (!IsInside(*node)) continue;
      const auto [place, is_new] = position.try_emplace({level_[node->id()], liveness_.of(*node)}, segments.size());
      if (is_new) segments.emplace_back();
      segments[place->second].push_back(node);
    }
    std::erase_if(segments, [this](const auto& nodes) {
      return std::count_if(nodes.begin(), nodes.end(), [this](const Node* node) {
               return roles_[node->id()] == CaptureRole::kEnqueues;
             }) < options_.min_kernels;
    });
    return segments;
  }

 private:
  bool IsInside(const Node& node) const {
    return roles_[node.id()] == CaptureRole::kHost || roles_[node.id()] == CaptureRole::kEnqueues;
  }

  // A path that leaves the segment and re-enters it gets a higher level, so that no outside node lies between inside
  // nodes of one level.
  void Visit(const Node& node) {
    int level = IsInside(node) ? 1 : 0;
    for (const Edge* edge : node.in_edges()) {
      const Node& source = *edge->src;
      if (IsFreeConstant(source) || source.IsNextIteration()) continue;
      level = std::max(level, level_[source.id()] + (IsInside(node) && !IsInside(source) ? 1 : 0));
    }
    level_[node.id()] = level;
  }

  const Graph& graph_;
  const std::vector<CaptureRole>& roles_;
  const SegmentOptions& options_;
  std::vector<int> level_;  // by node id
  const LivenessOfNodes liveness_;
};

}  // namespace

std::vector<std::vector<Node*>> FindSegments(const Graph& graph, const std::vector<CaptureRole>& roles,
                                             const SegmentOptions& options) {
  return SegmentFinder(graph, roles, options).Run();
}

}  // namespace weir
