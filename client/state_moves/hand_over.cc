#include "client/state_moves/hand_over.h"

#include <algorithm>
#include <map>
#include <vector>

#include "distribute/membership/cluster_view.h"

namespace weir {
absl::StatusOr<std::string> HandOverVariables(const std::string& address, const std::string& task,
                                              RebalanceOptions options) {
  ASSIGN_OR_RETURN(const ClusterState before, LookAtCluster(address));
  std::map<std::string, int64_t> bytes;  // of the tasks that may get them
  for (const Member& member : before.view.member()) {
    const std::string name = TaskNameOf(member);
    if (member.job() == options.job && member.state() == Member::SERVING && name != task) bytes[name] = 0;
  }
  if (bytes.empty()) return std::string();
  options.policy = [&](const ClusterState& state, const std::vector<std::string>& tasks) {
    std::vector<PlannedMove> moves = BalanceBy(BalanceMeasure::kBytes)(state, tasks);
    const auto stays = [&](const PlannedMove& move) { return state.groups[move.group].task != task; };
    moves.erase(std::remove_if(moves.begin(), moves.end(), stays), moves.end());
    return moves;
  };
  RETURN_IF_ERROR(Rebalance(address, options));
  ASSIGN_OR_RETURN(const ClusterState after, LookAtCluster(address));
  for (const VariableGroup& group : after.groups) {
    if (group.task == task) {
      return errors::FailedPrecondition(
          "Variable '", group.variables[0].state().name(), "' cannot leave ", task, ": ",
          group.obstacle.empty() ? "no other task may hold it, by the device filters of the sessions that use it"
                                 : group.obstacle);
    }
    if (const auto found = bytes.find(group.task); found != bytes.end()) found->second += group.bytes;
  }
  const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
  return std::max_element(bytes.begin(), bytes.end(), less)->first;
}

}  // namespace weir
