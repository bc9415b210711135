// Makes the standbys of parameter servers apply the updates that these apply.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/status.h"
#include "graph/graph.h"

namespace weir {

// The attribute of an update, a list of strings: the standbys that apply it too.
inline constexpr char kStandbysAttr[] = "_weir_standbys";
// The attribute of nodes that use a standby's copy of a variable, a string: the task for which theirs stands by.
inline constexpr char kStandbyForAttr[] = "_weir_standby_for";

// Whether the node changes state of which standbys keep copies: an update, or an op by which parts of embedding tables
// move, which is none for the commit.
bool ChangesReplicatedState(const Node& node);

struct StandbyUpdatesOptions {
  // The task of a placed node.
  std::function<std::string(const Node&)> task;
  // The tasks that keep copies of the state of `task`.
  std::function<std::vector<std::string>(const std::string& task)> standbys_of;
};

// For a whole graph, placed but not yet partitioned, before AddStepCommit. Each node that changes a variable or table
// on a task with standbys gets a copy on each of them:
// - It uses the standby's copy of the variable, in the container that state_key.h names (ContainerOn).
// - It has the same inputs from other tasks and from nodes that run before the step's decision.
// - It follows copies of the updates that the original follows. Values that the task computes after such updates,
//   as Adam does for its powers, are computed on the standby as well, from its own variables.
// UNIMPLEMENTED, naming the node, for updates that cannot be copied: those within functions, and those whose variable
// is chosen at run time.
absl::Status AddStandbyUpdates(const StandbyUpdatesOptions& options, Graph* graph);

}  // namespace weir
