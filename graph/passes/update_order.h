// The order between the updates of a step on different tasks.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_set.h"
#include "core/status.h"
#include "graph/graph.h"
#include "graph/passes/step_commit.h"
#include "graph/passes/step_commit_sides.h"

namespace weir {

// Drops control edges that order updates on different tasks (all variables, then the global step): a task that passes
// the order on may be lost between them. An update keeps the order with updates on its own task. So does what an
// update's task computes for it, such as the constant that is added to the global step.
//
// Everything else keeps the whole order: a variable that is read after the global step's update, on whatever task, has
// its new value.
class UpdateOrder {
 public:
  // All outlive this. Inputs from other tasks have been fetched.
  UpdateOrder(const StepCommitOptions& options, Sides* sides, Graph* graph)
      : options_(options), sides_(sides), graph_(graph) {}

  absl::Status FreeFromOtherTasks();
  // The ids of nodes that lost an edge.
  const absl::btree_set<int>& freed_nodes() const { return freed_nodes_; }

 private:
  // A control edge that is dropped, and what its node waits for instead (nullptr: nothing).
  struct FreedEdge {
    const Edge* edge;
    Node* own_part;
  };

  absl::StatusOr<Node*> Add(const std::string& op, const std::string& device);
  // Frees the node, which precedes an update on its task or is one, from other tasks too.
  void Follow(const Node& node);
  bool IsFollowed(const Node& node) const { return seen_.count(node.id()) != 0; }
  // Whether a control edge from `node` stands for updates alone: it is one, or a NoOp.
  bool IsOrder(const Node& node) const;
  // A node that runs once everything that `node` waits for, except for updates on other tasks, has run; nullptr if that
  // is nothing.
  absl::StatusOr<Node*> OwnPartOf(Node* node, const std::string& task);
  // Whether an update of `task` that waits for `node` waits for its inputs instead.
  bool IsPassedOn(const Node& node, const std::string& task) const;
  // A node that runs after the own parts, which are known, of all inputs.
  absl::StatusOr<Node*> JoinInputs(const Node& node, const std::string& task);
  // Finds the followed nodes that no longer wait for everything that they waited for.
  void FindReleased();
  // Makes nodes that are not followed, or are on another task, wait for all that a released node waited for before: by
  // a ControlTrigger, which a dead node does not keep from running.
  absl::Status KeepForOthers();

  const StepCommitOptions& options_;
  Sides* const sides_;
  Graph* const graph_;
  std::vector<FreedEdge> freed_;
  absl::flat_hash_set<const Edge*> freed_edges_;
  absl::btree_set<int> freed_nodes_;
  // By node and task; without a value: its inputs' parts are being found.
  absl::btree_map<std::pair<int, std::string>, std::optional<Node*>> own_parts_;
  std::vector<const Node*> followed_;     // still to be freed
  absl::btree_set<int> seen_;             // ids of nodes that were in followed_, and of ours
  absl::btree_map<int, Node*> released_;  // by id, the ControlTrigger; nullptr if no node needs it
};

}  // namespace weir
