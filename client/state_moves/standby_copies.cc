#include "client/state_moves/standby_copies.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "absl/algorithm/container.h"
#include "client/state_moves/cluster_state.h"
#include "core/clock.h"
#include "core/threads/cancellable_sleep.h"
#include "distribute/membership/cluster_view.h"
#include "distribute/membership/moved_state.h"
#include "distribute/transport/membership/membership_client.h"

namespace weir {
namespace {

constexpr absl::Duration kViewTimeout = absl::Seconds(10);
// Of a copy during which new variables were made, or to a task that has just started.
constexpr int kAttempts = 5;
constexpr absl::Duration kPause = absl::Milliseconds(200);

CallOptions Soon() { return {.deadline = MonotonicNow() + kViewTimeout}; }

std::vector<std::string> ServingTasks(const ClusterView& view, const std::string& job,
                                      const std::vector<std::string>& unfit) {
  std::vector<std::string> tasks;
  for (const Member& member : view.member()) {
    if (member.job() != job || member.state() != Member::SERVING) continue;
    if (!absl::c_linear_search(unfit, TaskNameOf(member))) tasks.push_back(TaskNameOf(member));
  }
  return tasks;
}

absl::StatusOr<StateMoveReport> CopyInAttempts(const std::string& address, const std::string& task,
                                               const std::string& standby, const StateMoveOptions& options,
                                               CancellationManager* cancellation) {
  absl::StatusOr<StateMoveReport> report = StateMoveReport();
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    ASSIGN_OR_RETURN(const ClusterState state, LookAtCluster(address));
    report = CopyToStandby(address, state, task, standby, options);
    if (!absl::IsAborted(report.status()) && !absl::IsUnavailable(report.status())) break;
    RETURN_IF_ERROR(SleepUntil(MonotonicNow() + kPause, cancellation));
  }
  return report;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> MissingStandbys(const ClusterView& view, const std::string& job,
                                                                 int count, const std::vector<std::string>& unfit) {
  const std::vector<std::string> tasks = ServingTasks(view, job, unfit);
  const MovedState state(view);
  std::map<std::string, int> duties;
  for (const Standby& entry : view.standby()) ++duties[entry.standby()];
  std::vector<std::pair<std::string, std::string>> missing;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (!state.SuccessorOf(tasks[i]).empty()) continue;  // it holds nothing
    std::vector<std::tuple<int, size_t, std::string>> candidates;
    for (size_t step = 1; step < tasks.size(); ++step) {
      const std::string& other = tasks[(i + step) % tasks.size()];
      if (!state.StandsBy(other, tasks[i])) candidates.emplace_back(duties[other], step, other);
    }
    std::sort(candidates.begin(), candidates.end());
    const int wanted = count - static_cast<int>(state.StandbysOf(tasks[i]).size());
    for (int k = 0; k < wanted && k < static_cast<int>(candidates.size()); ++k) {
      const std::string& standby = std::get<2>(candidates[k]);
      ++duties[standby];
      missing.emplace_back(tasks[i], standby);
    }
  }
  return missing;
}

absl::Status AddStandbys(const std::string& address, const StandbyOptions& options) {
  ASSIGN_OR_RETURN(const ClusterState cluster, LookAtCluster(address));
  std::vector<std::string> unfit = cluster.down;
  for (const auto* others : {&cluster.hung, &cluster.foreign})
    unfit.insert(unfit.end(), others->begin(), others->end());
  const size_t tasks = ServingTasks(cluster.view, options.job, unfit).size();
  if (static_cast<int>(tasks) <= options.count) {
    return errors::FailedPrecondition("Job '", options.job, "' has ", tasks, " tasks that serve, and needs ",
                                      options.count + 1, " for ", options.count, " standbys of each");
  }
  absl::Status first;
  for (const auto& [task, standby] : MissingStandbys(cluster.view, options.job, options.count, unfit)) {
    if (options.cancellation != nullptr) RETURN_IF_ERROR(options.cancellation->status());
    const absl::StatusOr<StateMoveReport> report =
        CopyInAttempts(address, task, standby, options.move, options.cancellation);
    first.Update(Annotate(report.status(), absl::StrCat("Making ", standby, " a standby of ", task)));
    if (report.ok() && options.added) options.added(task, standby, *report);
  }
  return first;
}

absl::Status RemoveStandby(const std::string& address, const std::string& task, const std::string& standby) {
  MoveStateRequest request;
  request.mutable_remove()->set_task(task);
  request.mutable_remove()->set_standby(standby);
  return MembershipClient(address).MoveState(Soon(), request).status();
}

}  // namespace weir
