#include "tools/variables/automatic_balance.h"

#include <system_error>
#include <utility>

#include "client/state_moves/hand_over.h"
#include "client/state_moves/load_watch.h"
#include "core/clock.h"
#include "core/logging.h"
#include "core/threads/cancellable_sleep.h"
#include "distribute/transport/membership/membership_client.h"

namespace weir {
namespace {

constexpr absl::Duration kCallTimeout = absl::Seconds(3);

void LogMove(const VariableGroup& group, const std::string& task, const StateMoveReport& report) {
  WEIR_LOG(INFO)
          .With("variable", group.variables[0].state().name())
          .With("from", group.task)
          .With("to", task)
          .With("bytes", report.bytes)
          .With("pause", absl::FormatDuration(report.pause))
      << "moved a group of variables to even the load";
}

}  // namespace

AutomaticBalance::AutomaticBalance(std::string address, std::string task, absl::Duration window)
    : address_(std::move(address)), task_(std::move(task)), window_(window) {
  try {
    thread_ = std::thread([this] { Run(); });
  } catch (const std::system_error& error) {
    WEIR_LOG(WARNING) << "cannot start a thread to even the load (" << error.what() << "); run weir rebalance";
  }
}

AutomaticBalance::~AutomaticBalance() {
  cancellation_.StartCancel(absl::CancelledError("The task is stopping"));
  if (thread_.joinable()) thread_.join();
}

void AutomaticBalance::Run() {
  LoadWatch watch({.window = window_});
  RebalanceOptions options{.job = kParameterServerJob, .window = window_, .cancellation = &cancellation_};
  options.policy = [&watch](const ClusterState& state, const std::vector<std::string>& tasks) {
    return watch.Next(state, tasks);
  };
  options.moved = LogMove;
  MembershipClient self(address_);
  std::string logged;
  while (!cancellation_.IsCancelled()) {
    const absl::StatusOr<ClusterView> view =
        self.GetView({.deadline = MonotonicNow() + kCallTimeout, .cancellation = &cancellation_});
    absl::Status status = view.status();
    if (view.ok() && view->registrar() == task_) {
      status = Rebalance(address_, options);
      // A cluster without parameter servers may get some.
      if (absl::IsFailedPrecondition(status)) SleepUntil(MonotonicNow() + window_, &cancellation_).IgnoreError();
    } else {
      SleepUntil(MonotonicNow() + window_, &cancellation_).IgnoreError();
    }
    if (status.ok() || cancellation_.IsCancelled()) {
      logged.clear();
    } else if (std::string(status.message()) != logged) {
      logged = std::string(status.message());
      WEIR_LOG(WARNING) << "evening the load of parameter servers failed: " << status.ToString();
    }
  }
}

}  // namespace weir
