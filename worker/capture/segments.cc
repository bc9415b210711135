#include "worker/capture/segments.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace weir {
namespace {

// An output of a Switch, a node at which a value enters or leaves a branch or loop, or one that waits for others.
using Hinge = std::pair<int, int>;  // node, output
// What a node hinges on: it cannot run before all of these have come, and it is dead when one of them is. Nodes that
// hinge on the same run or are dead together, and none of them holds up another whose results somebody waits for.
using Hinges = std::set<Hinge>;

bool IsFreeConstant(const Node& node) { return node.IsConstant() && node.in_edges().empty(); }

// Sources first; what an iteration hands to the next one is left out.
std::vector<Node*> InOrder(const Graph& graph) {
  std::vector<int> waits(graph.num_node_ids(), 0);
  std::vector<Node*> order;
  const auto counts = [](const Edge& edge) { return !edge.src->IsNextIteration(); };
  for (Node* node : graph.nodes()) {
    for (const Edge* edge : node->in_edges()) waits[node->id()] += counts(*edge) ? 1 : 0;
    if (waits[node->id()] == 0) order.push_back(node);
  }
  for (size_t i = 0; i < order.size(); ++i) {
    for (const Edge* edge : order[i]->out_edges()) {
      if (counts(*edge) && --waits[edge->dst->id()] == 0) order.push_back(edge->dst);
    }
  }
  return order;
}

class SegmentFinder {
 public:
  SegmentFinder(const Graph& graph, const std::vector<CaptureRole>& roles, const SegmentOptions& options)
      : graph_(graph), roles_(roles), options_(options), level_(graph.num_node_ids(), 0), hinges_(level_.size()) {}

  std::vector<std::vector<Node*>> Run() {
    std::map<std::pair<int, const Hinges*>, size_t> position;
    std::vector<std::vector<Node*>> segments;
    for (Node* node : InOrder(graph_)) {
      if (IsFreeConstant(*node)) continue;
      Visit(*node);
      if (!IsInside(*node)) continue;
      const auto [place, is_new] = position.try_emplace({level_[node->id()], hinges_[node->id()]}, segments.size());
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

  // A path that goes from inside to outside and in again comes to a higher level, so that nodes of one level, inside,
  // have no outside between them.
  void Visit(const Node& node) {
    int level = IsInside(node) ? 1 : 0;
    Hinges hinges;
    for (const Edge* edge : node.in_edges()) {
      const Node& source = *edge->src;
      if (IsFreeConstant(source) || source.IsNextIteration()) continue;
      level = std::max(level, level_[source.id()] + (IsInside(node) && !IsInside(source) ? 1 : 0));
      if (const Hinges* of_source = hinges_[source.id()]) hinges.insert(of_source->begin(), of_source->end());
      if (source.IsSwitch() && !edge->is_control()) hinges.insert({source.id(), edge->src_output});
    }
    if (node.IsMerge() || node.IsEnter() || node.IsExit() || node.IsNextIteration()) hinges = {{node.id(), 0}};
    if (roles_[node.id()] == CaptureRole::kWaits) hinges.insert({node.id(), 0});
    level_[node.id()] = level;
    hinges_[node.id()] = &*kinds_.insert(std::move(hinges)).first;
  }

  const Graph& graph_;
  const std::vector<CaptureRole>& roles_;
  const SegmentOptions& options_;
  std::vector<int> level_;             // by node id
  std::set<Hinges> kinds_;             // each once
  std::vector<const Hinges*> hinges_;  // by node id
};

}  // namespace

std::vector<std::vector<Node*>> FindSegments(const Graph& graph, const std::vector<CaptureRole>& roles,
                                             const SegmentOptions& options) {
  return SegmentFinder(graph, roles, options).Run();
}

}  // namespace weir
