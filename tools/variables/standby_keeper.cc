#include "tools/variables/standby_keeper.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "absl/time/time.h"
#include "client/state_moves/hand_over.h"
#include "client/state_moves/standby_copies.h"
#include "core/clock.h"
#include "core/logging.h"
#include "core/threads/cancellable_sleep.h"
#include "distribute/transport/membership/membership_client.h"

namespace weir {
namespace {

constexpr absl::Duration kInterval = absl::Seconds(1), kCallTimeout = absl::Seconds(3);
// After failures in turn: updates wait during each attempt.
constexpr absl::Duration kLongestPause = absl::Minutes(1);

}  // namespace

StandbyKeeper::StandbyKeeper(std::string address, std::string task, int count)
    : address_(std::move(address)), task_(std::move(task)), count_(count) {
  try {
    thread_ = std::thread([this] { Run(); });
  } catch (const std::system_error& error) {
    WEIR_LOG(WARNING) << "cannot start a thread that keeps standbys (" << error.what() << "); run weir standby";
  }
}

StandbyKeeper::~StandbyKeeper() {
  cancellation_.StartCancel(absl::CancelledError("The task is stopping"));
  if (thread_.joinable()) thread_.join();
}

void StandbyKeeper::Run() {
  StandbyOptions options{.job = kParameterServerJob, .count = count_, .cancellation = &cancellation_};
  options.added = [](const std::string& task, const std::string& standby, const StateMoveReport& report) {
    WEIR_LOG(INFO)
            .With("task", task)
            .With("standby", standby)
            .With("variables", report.variables)
            .With("bytes", report.bytes)
            .With("pause", absl::FormatDuration(report.pause))
        << "a task has a standby";
  };
  MembershipClient self(address_);
  std::string logged;
  absl::Duration pause = kInterval;
  while (!cancellation_.IsCancelled()) {
    const absl::StatusOr<ClusterView> view =
        self.GetView({.deadline = MonotonicNow() + kCallTimeout, .cancellation = &cancellation_});
    absl::Status status = view.status();
    const bool acts = view.ok() && view->registrar() == task_;
    if (acts && !MissingStandbys(*view, options.job, count_).empty()) status = AddStandbys(address_, options);
    pause = status.ok() ? kInterval : std::min(2 * pause, kLongestPause);
    if (status.ok() || cancellation_.IsCancelled()) {
      logged.clear();
    } else if (std::string(status.message()) != logged) {
      logged = std::string(status.message());
      WEIR_LOG(WARNING) << "some parameter servers have too few standbys: " << status.ToString();
    }
    SleepUntil(MonotonicNow() + pause, &cancellation_).IgnoreError();
  }
}

}  // namespace weir
