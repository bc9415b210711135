#include "distribute/collective/waiting_call.h"

namespace weir {

absl::Status WaitingCall::Watch(const CallOptions& options, TimerQueue* timers, const GiveUp& give_up) {
  if (CancellationManager* const cancellation = options.cancellation; cancellation != nullptr) {
    token_ = cancellation->Register([give_up, cancellation] { give_up(cancellation->status()); });
    if (token_ == CancellationManager::kInvalidToken) return cancellation->status();
    cancellation_ = cancellation;
  }
  if (timers != nullptr && options.deadline != absl::InfiniteFuture()) {
    timers_ = timers;
    timer_ = timers->Schedule(options.deadline - kWaitingAnswerTime, [give_up] { give_up(std::nullopt); });
  }
  return absl::OkStatus();
}

void WaitingCall::End(const absl::Status& status) {
  if (cancellation_ != nullptr) cancellation_->TryDeregister(token_);
  if (timers_ != nullptr) timers_->Cancel(timer_);
  std::exchange(done_, nullptr)(status);
}

}  // namespace weir
