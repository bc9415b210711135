#include "tools/variables/variable_share.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "client/state_moves/hand_over.h"
#include "core/clock.h"
#include "core/logging.h"
#include "core/threads/cancellable_sleep.h"
#include "distribute/membership/cluster_view.h"
#include "distribute/transport/membership/membership_client.h"
#include "tools/running_steps.h"

namespace weir {
namespace {

// Of a registrar that may be stopping as well: service managers wait for about ten seconds in all.
constexpr absl::Duration kCallTimeout = absl::Seconds(4);
// Another move may be in progress, or a task may have just left.
constexpr absl::Duration kRetryPause = absl::Seconds(1);
constexpr int kAttempts = 30;
// For steps that began before masters knew of the successor.
constexpr absl::Duration kStepPatience = absl::Seconds(10);

RebalanceOptions Options(CancellationManager* cancellation) {
  RebalanceOptions options{.job = kParameterServerJob, .cancellation = cancellation};
  options.moved = [](const VariableGroup& group, const std::string& task, const StateMoveReport& report) {
    WEIR_LOG(INFO)
            .With("variable", group.variables[0].state().name())
            .With("from", group.task)
            .With("to", task)
            .With("bytes", report.bytes)
            .With("pause", absl::FormatDuration(report.pause))
        << "moved a group of variables";
  };
  return options;
}

// Whether nodes may have to run on the task: it is one of the cluster definition, has taken over from another, or has
// had variables of its own.
absl::StatusOr<bool> MayBeNamed(const std::string& address, const std::string& task) {
  ASSIGN_OR_RETURN(const ClusterState state, LookAtCluster(address));
  const Member* const member = FindMember(state.view, task);
  if (member != nullptr && member->incarnation() == 0) return true;
  if (std::any_of(state.view.successor().begin(), state.view.successor().end(),
                  [&](const Successor& entry) { return entry.successor() == task; })) {
    return true;
  }
  return std::any_of(state.groups.begin(), state.groups.end(), [&](const VariableGroup& group) {
    return std::any_of(group.variables.begin(), group.variables.end(),
                       [&](const StateUse& use) { return ToStateKey(use.state()).task() == task; });
  });
}

}  // namespace

VariableShare::VariableShare(std::string address, std::string task)
    : address_(std::move(address)), task_(std::move(task)), is_server_(IsOfJob(task_, kParameterServerJob)) {
  if (!is_server_) return;
  try {
    thread_ = std::thread([this] { Take(); });
  } catch (const std::system_error& error) {
    WEIR_LOG(WARNING) << "cannot start a thread to rebalance variables (" << error.what() << "); run weir rebalance";
  }
}

void VariableShare::Take() {
  absl::Status status;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    status = Rebalance(address_, Options(&cancellation_));
    if (status.ok() || cancellation_.IsCancelled()) return;
    if (!SleepUntil(MonotonicNow() + kRetryPause, &cancellation_).ok()) return;
  }
  WEIR_LOG(WARNING) << "taking a share of the variables failed: " << status.ToString();
}

void VariableShare::Stop() {
  cancellation_.StartCancel(absl::CancelledError("The task is stopping"));
  if (thread_.joinable()) thread_.join();
}

void VariableShare::HandOver(absl::Duration timeout) {
  Stop();
  if (!is_server_) return;
  MembershipClient cluster(address_);
  absl::Status left = cluster.Drain({.deadline = MonotonicNow() + kCallTimeout}, task_).status();
  if (left.ok()) left = HandOverTask(address_, task_, address_, Options(nullptr), timeout).status();
  if (left.ok()) return;
  WEIR_LOG(WARNING) << "the task did not hand over all of its variables: " << left.ToString();
}

absl::StatusOr<bool> HandOverTask(const std::string& address, const std::string& task, const std::string& task_address,
                                  const RebalanceOptions& options, absl::Duration timeout) {
  const absl::Time deadline = MonotonicNow() + timeout;
  ASSIGN_OR_RETURN(const std::string successor, HandOverVariables(address, task, options, timeout));
  if (successor.empty()) return false;
  ASSIGN_OR_RETURN(const bool is_named, MayBeNamed(address, task));
  if (is_named) {
    const CallOptions call{.deadline = MonotonicNow() + kCallTimeout};
    RETURN_IF_ERROR(MembershipClient(address).Drain(call, task, /*undo=*/false, successor).status());
  }
  RETURN_IF_ERROR(AwaitRunningSteps(task, task_address, std::max(kStepPatience, deadline - MonotonicNow())));
  RETURN_IF_ERROR(CheckHoldsNothing(task_address));
  return true;
}

}  // namespace weir
