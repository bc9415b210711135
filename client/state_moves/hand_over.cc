#include "client/state_moves/hand_over.h"

#include <algorithm>
#include <map>
#include <vector>

#include "core/clock.h"
#include "core/threads/cancellable_sleep.h"
#include "distribute/membership/cluster_view.h"
#include "distribute/transport/membership/membership_client.h"

namespace weir {
namespace {

constexpr absl::Duration kRetryPause = absl::Milliseconds(500), kCallTimeout = absl::Seconds(10);

// A group that is still on the task; null: there is none.
const VariableGroup* FindLeft(const ClusterState& state, const std::string& task) {
  for (const VariableGroup& group : state.groups) {
    if (group.task == task) return &group;
  }
  return nullptr;
}

absl::Status CannotLeave(const VariableGroup& group, const absl::Status& move) {
  const std::string reason = !group.obstacle.empty() ? group.obstacle
                             : !move.ok()            ? std::string(move.message())
                                          : "device filters of the sessions that use it exclude all other tasks";
  return errors::FailedPrecondition("Variable '", group.variables[0].state().name(), "' cannot leave ", group.task,
                                    ": ", reason);
}

}  // namespace

absl::StatusOr<std::string> HandOverVariables(const std::string& address, const std::string& task,
                                              RebalanceOptions options, absl::Duration timeout) {
  const absl::Time deadline = MonotonicNow() + timeout;
  options.policy = [&](const ClusterState& state, const std::vector<std::string>& tasks) {
    std::vector<PlannedMove> moves = BalanceBy(BalanceMeasure::kBytes)(state, tasks);
    const auto stays = [&](const PlannedMove& move) { return state.groups[move.group].task != task; };
    moves.erase(std::remove_if(moves.begin(), moves.end(), stays), moves.end());
    return moves;
  };
  while (true) {
    ASSIGN_OR_RETURN(const ClusterState before, LookAtCluster(address));
    std::map<std::string, int64_t> bytes;  // of the tasks that may get them
    for (const Member& member : before.view.member()) {
      const std::string name = TaskNameOf(member);
      if (member.job() == options.job && member.state() == Member::SERVING && name != task) bytes[name] = 0;
    }
    if (bytes.empty()) return std::string();
    const absl::Status moved = FindLeft(before, task) == nullptr ? absl::OkStatus() : Rebalance(address, options);
    ASSIGN_OR_RETURN(const ClusterState after, LookAtCluster(address));
    if (const VariableGroup* const left = FindLeft(after, task); left != nullptr) {
      const absl::Time next = MonotonicNow() + kRetryPause;
      if (moved.ok() || next > deadline) return CannotLeave(*left, moved);
      RETURN_IF_ERROR(SleepUntil(next, options.cancellation));
      continue;
    }
    for (const VariableGroup& group : after.groups) {
      if (const auto found = bytes.find(group.task); found != bytes.end()) found->second += group.bytes;
    }
    const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
    return std::max_element(bytes.begin(), bytes.end(), less)->first;
  }
}

absl::Status CheckHoldsNothing(const std::string& address) {
  ASSIGN_OR_RETURN(const ListStateResponse state,
                   MembershipClient(address).ListState({.deadline = MonotonicNow() + kCallTimeout}));
  if (state.held().empty()) return absl::OkStatus();
  return errors::FailedPrecondition("The task has the variable '", state.held(0).state().name(),
                                    "', which was created while the others were moved");
}

}  // namespace weir
