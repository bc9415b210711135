#include "client/state_moves/rebalance.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "core/clock.h"
#include "core/threads/cancellable_sleep.h"
#include "distribute/membership/cluster_view.h"

namespace weir {
namespace {

class Plan {
 public:
  Plan(const ClusterState& state, const std::vector<std::string>& tasks, BalanceMeasure measure, double tolerance)
      : groups_(state.groups), tasks_(tasks), tolerance_(tolerance) {
    for (const std::string& task : tasks) sums_[task] = 0;
    double total = 0;
    for (const VariableGroup& group : groups_) {
      loads_.push_back(LoadOf(group, measure));
      total += loads_.back();
      at_.push_back(group.task);
    }
    // Groups without load have a small weight, so that they are spread too.
    const double least = total > 0 ? total / (1000.0 * static_cast<double>(groups_.size())) : 1.0;
    for (size_t i = 0; i < groups_.size(); ++i) {
      loads_[i] = std::max(loads_[i], least);
      if (sums_.contains(at_[i])) sums_[at_[i]] += loads_[i];
    }
  }

  std::vector<PlannedMove> Make() {
    Evacuate();
    Even();
    std::vector<PlannedMove> moves;
    for (size_t i = 0; i < groups_.size(); ++i) {
      if (at_[i] != groups_[i].task) moves.push_back({i, at_[i]});
    }
    return moves;
  }

 private:
  bool MayMove(size_t group, const std::string& task) const {
    return groups_[group].obstacle.empty() && groups_[group].IsReachedOn(task);
  }
  void MoveTo(size_t group, const std::string& task) {
    if (sums_.contains(at_[group])) sums_[at_[group]] -= loads_[group];
    at_[group] = task;
    sums_[task] += loads_[group];
  }

  // The largest first, each to the least loaded task.
  void Evacuate() {
    std::vector<size_t> leaving;
    for (size_t i = 0; i < groups_.size(); ++i) {
      if (!sums_.contains(at_[i])) leaving.push_back(i);
    }
    std::stable_sort(leaving.begin(), leaving.end(), [this](size_t a, size_t b) { return loads_[a] > loads_[b]; });
    for (const size_t group : leaving) {
      const std::string* best = nullptr;
      for (const std::string& task : tasks_) {
        if (MayMove(group, task) && (best == nullptr || sums_[task] < sums_[*best])) best = &task;
      }
      if (best != nullptr) MoveTo(group, *best);
    }
  }

  // Each move decreases the larger of two sums, so that it ends.
  void Even() {
    double share = 0;
    for (const auto& [task, sum] : sums_) share += sum / static_cast<double>(sums_.size());
    for (size_t moves = 0; moves < 4 * groups_.size(); ++moves) {
      if (!MoveBest(share * tolerance_)) return;
    }
  }
  // The move that evens two tasks best, of the most loaded task that has one.
  bool MoveBest(double tolerance) {
    std::vector<std::string> by_load = tasks_;
    std::stable_sort(by_load.begin(), by_load.end(),
                     [this](const auto& a, const auto& b) { return sums_[a] > sums_[b]; });
    for (const std::string& from : by_load) {
      for (auto to = by_load.rbegin(); *to != from; ++to) {
        const double difference = sums_[from] - sums_[*to];
        if (difference <= tolerance) break;
        const int group = BestOf(from, *to, difference);
        if (group < 0) continue;
        MoveTo(static_cast<size_t>(group), *to);
        return true;
      }
    }
    return false;
  }
  // The group whose load is closest to half of the difference; -1 if each would reverse it.
  int BestOf(const std::string& from, const std::string& to, double difference) const {
    int best = -1;
    const auto off = [&](size_t i) { return std::abs(loads_[i] - difference / 2); };
    for (size_t i = 0; i < groups_.size(); ++i) {
      if (at_[i] != from || loads_[i] >= difference || !MayMove(i, to)) continue;
      if (best < 0 || off(i) < off(static_cast<size_t>(best))) best = static_cast<int>(i);
    }
    return best;
  }

  const std::vector<VariableGroup>& groups_;
  const std::vector<std::string>& tasks_;
  const double tolerance_;
  std::vector<double> loads_;    // by group
  std::vector<std::string> at_;  // by group
  std::map<std::string, double> sums_;
};

absl::StatusOr<ClusterState> Look(const std::string& address, const RebalanceOptions& options) {
  ASSIGN_OR_RETURN(ClusterState state, LookAtCluster(address));
  if (options.window > absl::ZeroDuration()) {
    std::map<StateKey, int64_t> before;
    for (const VariableGroup& group : state.groups) before[ToStateKey(group.variables[0].state())] = group.steps;
    RETURN_IF_ERROR(SleepUntil(MonotonicNow() + options.window, options.cancellation));
    ASSIGN_OR_RETURN(state, LookAtCluster(address));
    for (VariableGroup& group : state.groups) {
      const auto known = before.find(ToStateKey(group.variables[0].state()));
      if (known != before.end()) group.steps = std::max<int64_t>(0, group.steps - known->second);
    }
  }
  state.groups.erase(std::remove_if(state.groups.begin(), state.groups.end(),
                                    [&](const VariableGroup& group) { return !IsOfJob(group.task, options.job); }),
                     state.groups.end());
  return state;
}

// A server's time for the calls of one step, in bytes that it could have sent meanwhile.
constexpr double kBytesPerStep = 16 << 10;

}  // namespace

double LoadOf(const VariableGroup& group, BalanceMeasure measure) {
  const auto bytes = static_cast<double>(group.bytes), steps = static_cast<double>(group.steps);
  switch (measure) {
    case BalanceMeasure::kBytes:
      return bytes;
    case BalanceMeasure::kSteps:
      return steps;
    case BalanceMeasure::kTraffic:
      return bytes * steps;
    case BalanceMeasure::kLoad:
      return (bytes + kBytesPerStep) * steps;
  }
  return bytes;
}

BalancePolicy BalanceBy(BalanceMeasure measure, double tolerance) {
  return [measure, tolerance](const ClusterState& state, const std::vector<std::string>& tasks) {
    return Plan(state, tasks, measure, tolerance).Make();
  };
}

absl::Status Rebalance(const std::string& address, const RebalanceOptions& options) {
  ASSIGN_OR_RETURN(const ClusterState state, Look(address, options));
  std::vector<std::string> tasks;
  for (const Member& member : state.view.member()) {
    if (member.job() == options.job && member.state() == Member::SERVING) tasks.push_back(TaskNameOf(member));
  }
  if (tasks.empty()) {
    return errors::FailedPrecondition("Job '", options.job, "' has no serving task that could hold variables");
  }
  const std::vector<PlannedMove> moves = options.policy(state, tasks);
  if (!moves.empty()) RETURN_IF_ERROR(state.CheckSessionsFollow());
  std::set<size_t> moved;
  absl::Status first_error;
  for (const PlannedMove& move : moves) {
    if (move.group >= state.groups.size() || !moved.insert(move.group).second) {
      return errors::InvalidArgument("The policy moves a group twice, or one that does not exist");
    }
    const VariableGroup& group = state.groups[move.group];
    if (options.planned) options.planned(group, move.task);
    if (options.only_plan) continue;
    if (options.cancellation != nullptr && options.cancellation->IsCancelled()) return options.cancellation->status();
    const absl::StatusOr<StateMoveReport> report = MoveVariables(address, state.view, group, move.task, options.move);
    first_error.Update(report.status());
    if (report.ok() && options.moved) options.moved(group, move.task, *report);
  }
  return first_error;
}

}  // namespace weir
