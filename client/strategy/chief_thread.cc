#include "client/strategy/chief_thread.h"

#include "absl/time/clock.h"
#include "client/task_loss.h"
#include "core/clock.h"
#include "core/threads/cancellable_sleep.h"

namespace weir {
namespace {

constexpr absl::Duration kRetryPause = absl::Milliseconds(200);
// Until another loop has restored variables that were lost; a program error lasts longer.
constexpr absl::Duration kLongestStateLoss = absl::Minutes(10);

}  // namespace

ChiefThread::ChiefThread(Session* session, std::vector<Operation> steps)
    : session_(session), thread_([this, steps = std::move(steps)] { Run(steps); }) {}

ChiefThread::~ChiefThread() { Stop().IgnoreError(); }

void ChiefThread::Run(const std::vector<Operation>& steps) {
  absl::Time last_good = MonotonicNow();
  for (size_t next = 0;;) {
    status_ = session_->RunTargets({steps[next]});
    if (status_.ok() || IsTaskLoss(status_)) last_good = MonotonicNow();
    if (status_.ok()) {
      next = (next + 1) % steps.size();
      continue;
    }
    const bool may_recover = MayBeStateLoss(status_) && MonotonicNow() - last_good < kLongestStateLoss;
    if (!IsTaskLoss(status_) && !may_recover) {
      session_->Close().IgnoreError();  // otherwise the workers' steps would wait for this one's indefinitely
      return;
    }
    if (!SleepUntil(MonotonicNow() + kRetryPause, &stop_).ok()) return;
  }
}

absl::Status ChiefThread::Stop() {
  if (!thread_.joinable()) return status_;
  stop_.StartCancel();
  const absl::Status closed = session_->Close();
  thread_.join();
  const bool by_closing = absl::IsCancelled(status_) || absl::IsAborted(status_);
  if (by_closing) status_ = closed;
  return status_;
}

}  // namespace weir
