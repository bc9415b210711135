#include "graph/passes/update_order.h"

namespace weir {

absl::Status UpdateOrder::FreeFromOtherTasks() {
  for (const Node* update : sides_->updates()) Follow(*update);
  while (!followed_.empty()) {
    const Node* const node = followed_.back();
    followed_.pop_back();
    const std::string task = options_.task(*node);
    const std::vector<Edge*> in_edges = node->in_edges();
    for (const Edge* edge : in_edges) {
      if (!sides_->IsAfter(*edge->src)) continue;
      const bool is_own = options_.task(*edge->src) == task, is_update = sides_->IsUpdate(*edge->src);
      if (is_own && is_update) continue;
      if (edge->is_control() && IsOrder(*edge->src)) {
        ASSIGN_OR_RETURN(Node* const own_part, OwnPartOf(edge->src, task));
        freed_.push_back({edge, own_part});
        freed_edges_.insert(edge);
        freed_nodes_.insert(node->id());
      } else if (is_own) {
        Follow(*edge->src);
      }
    }
  }
  RETURN_IF_ERROR(KeepForOthers());
  for (const auto& [edge, own_part] : freed_) {
    if (own_part != nullptr) graph_->AddControlEdge(own_part, edge->dst);
    graph_->RemoveEdge(edge);
  }
  return absl::OkStatus();
}

absl::StatusOr<Node*> UpdateOrder::Add(const std::string& op, const std::string& device) {
  ASSIGN_OR_RETURN(Node* const node, AddCommitNode(op, device, std::nullopt, graph_));
  sides_->AddAfter(*node);
  seen_.insert(node->id());  // followed, too
  return node;
}

void UpdateOrder::Follow(const Node& node) {
  if (sides_->IsOutsideOfLoops(node) && seen_.insert(node.id()).second) followed_.push_back(&node);
}

bool UpdateOrder::IsOrder(const Node& node) const {
  return sides_->IsUpdate(node) || (node.op() == "NoOp" && node.num_inputs() == 0);
}

bool UpdateOrder::IsPassedOn(const Node& node, const std::string& task) const {
  return IsOrder(node) && !(sides_->IsUpdate(node) && options_.task(node) == task);
}

absl::StatusOr<Node*> UpdateOrder::OwnPartOf(Node* node, const std::string& task) {
  std::vector<Node*> open = {node};
  while (!open.empty()) {
    Node* const next = open.back();
    const auto [it, is_new] = own_parts_.try_emplace({next->id(), task});
    std::optional<Node*>& part = it->second;
    if (!part.has_value() && !IsPassedOn(*next, task)) {
      part = next;
      if (options_.task(*next) == task) Follow(*next);
    } else if (!part.has_value() && !is_new) {
      ASSIGN_OR_RETURN(part, JoinInputs(*next, task));
    }
    if (part.has_value()) {
      open.pop_back();
      continue;
    }
    for (const Edge* edge : next->in_edges()) {
      if (sides_->IsAfter(*edge->src)) open.push_back(edge->src);
    }
  }
  return *own_parts_.at({node->id(), task});
}

absl::StatusOr<Node*> UpdateOrder::JoinInputs(const Node& node, const std::string& task) {
  absl::btree_set<int> awaited;
  for (const Edge* edge : node.in_edges()) {
    if (!sides_->IsAfter(*edge->src)) continue;
    const std::optional<Node*>& part = own_parts_.at({edge->src->id(), task});
    if (part.value_or(nullptr) != nullptr) awaited.insert((*part)->id());
  }
  if (awaited.empty()) return nullptr;
  if (awaited.size() == 1) return graph_->node(*awaited.begin());
  ASSIGN_OR_RETURN(Node* const joined, Add("NoOp", options_.cpu(task)));
  for (const int id : awaited) graph_->AddControlEdge(graph_->node(id), joined);
  return joined;
}

void UpdateOrder::FindReleased() {
  std::vector<const Node*> open;
  const auto put = [&](const Node& node) {
    if (IsFollowed(node) && released_.try_emplace(node.id(), nullptr).second) open.push_back(&node);
  };
  for (const FreedEdge& freed : freed_) put(*freed.edge->dst);
  while (!open.empty()) {
    const Node* const node = open.back();
    open.pop_back();
    for (const Edge* edge : node->out_edges()) put(*edge->dst);
  }
}

absl::Status UpdateOrder::KeepForOthers() {
  FindReleased();
  std::vector<const Edge*> kept;
  std::vector<Node*> open;
  const auto add_whole = [&](Node* node) -> absl::StatusOr<Node*> {
    const auto it = released_.find(node->id());
    if (it == released_.end()) return node;
    if (it->second == nullptr) {
      ASSIGN_OR_RETURN(it->second, Add("ControlTrigger", options_.cpu(options_.task(*node))));
      open.push_back(node);
    }
    return it->second;
  };
  for (const auto& [id, whole] : released_) {
    const Node* const node = graph_->node(id);
    for (const Edge* edge : node->out_edges()) {
      const bool is_own = IsFollowed(*edge->dst) && options_.task(*edge->dst) == options_.task(*node);
      if (!is_own && !freed_edges_.contains(edge)) kept.push_back(edge);
    }
  }
  for (const Edge* edge : kept) {
    ASSIGN_OR_RETURN(Node* const whole, add_whole(edge->src));
    graph_->AddControlEdge(whole, edge->dst);
  }
  for (const FreedEdge& freed : freed_) {
    Node* const part = freed.own_part;
    if (part == nullptr || options_.task(*part) == options_.task(*freed.edge->dst)) continue;
    ASSIGN_OR_RETURN(Node* const whole, add_whole(part));
    graph_->AddControlEdge(whole, freed.edge->dst);
  }
  while (!open.empty()) {
    Node* const node = open.back();
    open.pop_back();
    Node* const whole = released_[node->id()];
    graph_->AddControlEdge(node, whole);
    for (const Edge* edge : node->in_edges()) {
      ASSIGN_OR_RETURN(Node* const earlier, add_whole(edge->src));
      if (earlier != edge->src || freed_edges_.contains(edge)) graph_->AddControlEdge(earlier, whole);
    }
  }
  return absl::OkStatus();
}

}  // namespace weir
