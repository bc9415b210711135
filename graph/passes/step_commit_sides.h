// The nodes of a graph that run before a step's decision, and those that run after it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "core/status.h"
#include "graph/control_flow.h"
#include "graph/graph.h"

namespace weir {

// Side effects of a node, including those of the functions that it calls.
struct Effects {
  bool writes_state = false;
  bool waits = false;  // for other steps, and not as an update
};

// Adds a node of the commit, "_commit/OP", to `device`; `type` is its attribute T.
absl::StatusOr<Node*> AddCommitNode(absl::string_view op, const std::string& device, std::optional<DataType> type,
                                    Graph* graph);

// Remembers the effects of functions. The graph outlives it.
class EffectsOf {
 public:
  explicit EffectsOf(const Graph& graph) : graph_(graph) {}

  Effects operator()(const Node& node);

 private:
  const Effects& OfFunction(const std::string& name);

  const Graph& graph_;
  absl::btree_map<std::string, Effects> functions_;
};

// The graph outlives it.
class Sides {
 public:
  static absl::StatusOr<Sides> Of(const Graph& graph, EffectsOf* effects);

  const std::vector<const Node*>& updates() const { return updates_; }
  // Nodes that were added since are before it, unless AddAfter said otherwise.
  bool IsAfter(const Node& node) const { return node.id() < after_.size() && after_[node.id()]; }
  bool IsUpdate(const Node& node) const { return node.id() < is_update_.size() && is_update_[node.id()]; }
  void AddAfter(const Node& node);
  bool IsOutsideOfLoops(const Node& node) const { return flow_.InputFrame(node) == 0; }
  // Whether its outputs are values of a loop's iterations.
  bool IsValueOfLoop(const Node& node) const {
    return node.id() < flow_.frame_of.size() && flow_.OutputFrame(node) != 0;
  }
  // Whether everything that leaves `node` goes to the other side, or nothing does. In loops: no, for what leaves a loop
  // stands for it.
  bool IsLastBefore(const Node& node) const;

 private:
  explicit Sides(const Graph& graph)
      : graph_(graph), is_update_(graph.num_node_ids(), false), after_(graph.num_node_ids(), false) {}

  // The outermost loop around the node's outputs; 0: none.
  int LoopOf(const Node& node) const;
  void Put(const Node& node);
  // A loop runs on one side as a whole: its iterations wait for each other.
  void Spread();

  const Graph& graph_;
  ControlFlowInfo flow_;
  std::vector<const Node*> updates_;
  std::vector<bool> is_update_, after_;
  std::vector<const Node*> open_;
};

}  // namespace weir
