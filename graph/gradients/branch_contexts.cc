#include "graph/gradients/branch_contexts.h"

#include <algorithm>

#include "graph/gradients/loop_structure.h"

namespace weir {

int BranchContexts::Of(const Output& value) {
  const Node& node = *value.node();
  const int base = OfNode(&node);
  if (!node.IsSwitch() || IsLoopSwitch(node)) return base;
  const Edge* predicate = node.input_edge(1);
  return Child(base, {Output(predicate->src, predicate->src_output), value.index(), node.num_outputs()});
}

int BranchContexts::OfEdge(const Edge& edge) {
  return edge.is_control() ? OfNode(edge.src) : Of(Output(edge.src, edge.src_output));
}

int BranchContexts::Child(int parent, const Branch& branch) {
  auto [it, inserted] =
      children_.try_emplace({parent, {branch.predicate, branch.taken}}, static_cast<int>(contexts_.size()));
  if (inserted) contexts_.push_back({parent, contexts_[parent].depth + 1, branch});
  return it->second;
}

// The edges whose contexts a node inherits. A loop's own nodes start with an empty context; an Exit has the context in
// which the loop was entered.
std::vector<const Edge*> BranchContexts::Sources(const Node& node) const {
  if (node.IsEnter() || IsLoopMerge(node) || IsLoopSwitch(node)) return {};
  if (!node.IsExit()) return {node.in_edges().begin(), node.in_edges().end()};
  std::vector<const Edge*> edges;
  const int frame = info_->frame_of[node.id()];
  for (int id = 0; id < static_cast<int>(info_->frame_of.size()); ++id) {
    const Node* enter = graph_->node(id);
    if (enter == nullptr || info_->frame_of[id] != frame || !enter->IsEnter()) continue;
    if (const Edge* edge = enter->input_edge(0)) edges.push_back(edge);
  }
  return edges;
}

int BranchContexts::Combine(const Node& node) {
  int context = 0;
  bool first = true;
  for (const Edge* edge : Sources(node)) {
    const int source = OfEdge(*edge);
    if (node.IsMerge() && !node.IsExit()) {
      if (edge->is_control()) continue;
      context = first ? source : CommonAncestor(context, source);
      first = false;
    } else if (contexts_[source].depth > contexts_[context].depth) {
      context = source;
    }
  }
  return context;
}

// Depth-first with an explicit stack: graphs may be deeper than the thread's stack.
int BranchContexts::OfNode(const Node* node) {
  if (auto it = of_node_.find(node); it != of_node_.end() && it->second != kPending) return it->second;
  std::vector<const Node*> stack = {node};
  while (!stack.empty()) {
    const Node* top = stack.back();
    auto [it, inserted] = of_node_.try_emplace(top, kPending);
    if (it->second != kPending) {
      stack.pop_back();
      continue;
    }
    bool complete = true;
    for (const Edge* edge : Sources(*top)) {
      if (inserted && !of_node_.contains(edge->src)) {
        stack.push_back(edge->src);
        complete = false;
      }
    }
    if (!complete) continue;
    const int context = Combine(*top);
    of_node_[top] = context;
    stack.pop_back();
  }
  return of_node_[node];
}

int BranchContexts::CommonAncestor(int a, int b) const {
  while (a != b) {
    int& deeper = contexts_[a].depth >= contexts_[b].depth ? a : b;
    deeper = contexts_[deeper].parent;
  }
  return a;
}

std::vector<BranchContexts::Branch> BranchContexts::Path(int ancestor, int context) const {
  std::vector<Branch> path;
  for (; context != ancestor; context = contexts_[context].parent) path.push_back(contexts_[context].branch);
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace weir
