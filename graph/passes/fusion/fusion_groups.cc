#include "graph/passes/fusion/fusion_groups.h"

#include <algorithm>
#include <set>

#include "core/fusion/fused_expression.h"
#include "core/op/attr_value.h"
#include "graph/liveness.h"

namespace weir {
namespace {

constexpr int kNoGroup = -1;
// A search for a path gives up beyond this and assumes that there is one.
constexpr size_t kMaxSearch = 4096;

// Whether the node may wait for external events. Feeds are available when the step begins, and variables are read when
// needed.
bool Waits(const Node& node) {
  if (node.registration() == nullptr) return true;
  if (node.IsRecv()) {
    bool is_fed = false;
    return !GetNodeAttr(node.def(), "client_terminated", &is_fed).ok() || !is_fed;
  }
  return node.IsStateful() && node.op() != "ReadVariableOp" && node.op() != "VarHandleOp" && !node.IsConstant();
}

// Visits nodes, users first: each joins the group of its readers, or starts a new one.
class GroupFinder {
 public:
  GroupFinder(const Graph& graph, const FusionRules& rules)
      : graph_(graph), rules_(rules), liveness_(graph, Waits), group_of_(graph.num_node_ids(), kNoGroup) {}

  std::vector<std::vector<Node*>> Run() {
    std::vector<Node*> order = ForwardOrder(graph_);
    for (size_t i = 0; i < order.size(); ++i) position_[order[i]] = i;
    for (auto node = order.rbegin(); node != order.rend(); ++node) Place(*node);
    std::vector<std::vector<Node*>> found;
    for (Group& group : groups_) {
      if (group.nodes.size() < 2) continue;
      std::reverse(group.nodes.begin(), group.nodes.end());
      found.push_back(std::move(group.nodes));
    }
    return found;
  }

 private:
  struct Group {
    std::vector<Node*> nodes;  // users first
    bool has_fold = false;
    int num_outputs = 1;
    size_t first_output = 0, last = 0;  // positions; the last node is an output
  };

  void Place(Node* node) {
    const bool is_step = rules_.is_step(*node);
    if (!is_step && !rules_.is_fold(*node)) return;
    if (is_step) {
      for (const int group : Readers(*node)) {
        if (Join(node, group)) return;
      }
    }
    group_of_[node->id()] = static_cast<int>(groups_.size());
    const size_t position = position_.at(node);
    groups_.push_back({.nodes = {node}, .has_fold = !is_step, .first_output = position, .last = position});
  }

  // The groups that read it, the first reader's first.
  std::vector<int> Readers(const Node& node) const {
    std::set<std::pair<size_t, int>> readers;
    for (const Edge* edge : node.out_edges()) {
      const int group = edge->is_control() ? kNoGroup : group_of_[edge->dst->id()];
      if (group != kNoGroup) readers.insert({position_.at(edge->dst), group});
    }
    std::vector<int> groups;
    for (const auto& [position, group] : readers) {
      if (std::find(groups.begin(), groups.end(), group) == groups.end()) groups.push_back(group);
    }
    return groups;
  }

  bool Join(Node* node, int index) {
    Group& group = groups_[index];
    const bool is_read_elsewhere = std::any_of(node->out_edges().begin(), node->out_edges().end(),
                                               [&](const Edge* edge) { return !IsWithin(*edge, index); });
    if (group.nodes.front()->assigned_device() != node->assigned_device() ||
        group.nodes.size() == FusedExpression::kMostSteps || MustStayOutside(*node, index)) {
      return false;
    }
    if (is_read_elsewhere && !MayBeOutput(*node, index)) return false;
    group.nodes.push_back(node);
    group_of_[node->id()] = index;
    if (CountInputs(group, index) > FusedExpression::kMostInputs) {
      group.nodes.pop_back();
      group_of_[node->id()] = kNoGroup;
      return false;
    }
    if (is_read_elsewhere) {
      ++group.num_outputs;
      group.first_output = position_.at(node);
      if (group.num_outputs == 2) spread_.push_back(index);
    }
    return true;
  }

  bool IsWithin(const Edge& edge, int group) const { return !edge.is_control() && group_of_[edge.dst->id()] == group; }

  bool MustStayOutside(const Node& node, int group) const {
    return std::any_of(node.out_edges().begin(), node.out_edges().end(),
                       [&](const Edge* edge) { return IsWithin(*edge, group) && rules_.stays_outside(*edge); });
  }

  bool MayBeOutput(const Node& node, int index) const {
    const Group& group = groups_[index];
    return !group.has_fold && group.num_outputs < FusedExpression::kMostOutputs &&
           liveness_.of(node) == liveness_.of(*group.nodes.front()) && !ComesBack(node, index);
  }

  // After this position no path leads back to the group. Paths back start only at groups with several outputs.
  size_t EndOfWaysTo(int index) const {
    size_t end = groups_[index].last;
    for (bool grows = true; grows;) {
      grows = false;
      for (const int other : spread_) {
        const Group& group = groups_[other];
        if (group.first_output >= end || group.last <= end) continue;
        end = group.last;
        grows = true;
      }
    }
    return end;
  }

  // Whether a path leads from `node` out of the group and back into it.
  bool ComesBack(const Node& node, int index) const {
    const size_t end = EndOfWaysTo(index);
    std::set<const Node*> seen;
    std::vector<const Node*> open;
    const auto reach = [&](const Edge& edge) {
      if (seen.insert(edge.dst).second) open.push_back(edge.dst);
    };
    for (const Edge* edge : node.out_edges()) {
      if (!IsWithin(*edge, index)) reach(*edge);
    }
    while (!open.empty()) {
      const Node& at = *open.back();
      open.pop_back();
      const int group = group_of_[at.id()];
      if (group == index || seen.size() > kMaxSearch) return true;
      if (at.IsNextIteration() || position_.at(&at) > end) continue;
      if (group != kNoGroup) {  // it will be one node, before all of its readers
        for (const Node* member : groups_[group].nodes) {
          for (const Edge* edge : member->out_edges()) reach(*edge);
        }
      } else {
        for (const Edge* edge : at.out_edges()) reach(*edge);
      }
    }
    return false;
  }

  // Distinct tensors from outside, except those that stay outside.
  int CountInputs(const Group& group, int index) const {
    std::set<std::pair<int, int>> tensors;
    int own = 0;
    for (const Node* node : group.nodes) {
      for (const Edge* edge : node->in_edges()) {
        if (edge->is_control() || group_of_[edge->src->id()] == index) continue;
        if (rules_.is_fold(*node) && edge->dst_input > 0) continue;  // axes become attributes
        if (rules_.stays_outside(*edge)) {
          ++own;
        } else {
          tensors.insert({edge->src->id(), edge->src_output});
        }
      }
    }
    return static_cast<int>(tensors.size()) + own;
  }

  const Graph& graph_;
  const FusionRules& rules_;
  const LivenessOfNodes liveness_;
  std::vector<int> group_of_;  // by node id
  std::vector<Group> groups_;
  std::vector<int> spread_;                            // groups with several outputs
  absl::flat_hash_map<const Node*, size_t> position_;  // in topological order
};

}  // namespace

std::vector<std::vector<Node*>> FindFusionGroups(const Graph& graph, const FusionRules& rules) {
  return GroupFinder(graph, rules).Run();
}

}  // namespace weir
