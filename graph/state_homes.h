// Variables on other tasks than their graph says.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/status.h"
#include "graph/graph.h"
#include "graph/state_key.h"

namespace weir {

// The name in RewriterConfig's custom_optimizers of a session that copies variables between tasks: it finds them under
// the containers and devices that its graph names, whether they have moved or not.
inline constexpr char kMovesStateOptimizer[] = "MovesState";

// The name in RewriterConfig's custom_optimizers of a session whose steps without updates read variables from standbys.
inline constexpr char kReadsStandbysOptimizer[] = "ReadsStandbys";

// The task that holds a variable: "/job:ps/replica:0/task:2". Empty or the key's own task: it has not moved.
using StateHomeOf = std::function<std::string(const StateKey& key)>;

// The task on which nodes that name a task run: a task that left has a successor. Empty: that task itself.
using SuccessorOf = std::function<std::string(const std::string& task)>;

// Assigns the nodes that use variables to the tasks that hold these, and sets their containers; then all
// nodes on tasks with a successor to that. For a placed graph. Variables without a home of their own follow those that
// must share a device with them. FAILED_PRECONDITION if such variables have different homes; the graph is then
// unusable.
absl::Status AssignToHomes(const StateHomeOf& home_of, const SuccessorOf& successor_of, Graph* graph);

// Reads variables from copies on other tasks: assigns the nodes that use them to the task that `standby_of` gives for
// the one that holds them (empty: they stay), and marks their handles (kStandbyForAttr). For a placed graph that makes
// no updates, after AssignToHomes.
absl::Status AssignToStandbys(const std::function<std::string(const std::string& task)>& standby_of, Graph* graph);

// Variables that must share a device.
struct SharedState {
  std::vector<const Node*> variables;  // for each at least one node with a StateKey; keys may repeat
  std::string obstacle;                // why they cannot be moved; empty: they can
  std::string function;                // that may use one of them by name; empty: none does
};
// Of a placed graph.
std::vector<SharedState> FindSharedState(Graph* graph);

}  // namespace weir
