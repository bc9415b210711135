#include "worker/answer_in_time.h"

#include <optional>
#include <utility>

#include "core/clock.h"
#include "core/mutex.h"
#include "distribute/transport/answer_margin.h"

namespace weir {
namespace {

class TimedAnswer {
 public:
  TimedAnswer(TimerQueue* timers, std::function<void(absl::Status)> done) : timers_(timers), done_(std::move(done)) {}

  // nullptr: it was given.
  std::function<void(absl::Status)> Take() {
    MutexLock lock(mu_);
    return std::exchange(done_, nullptr);
  }
  void SetTimer(TimerQueue::Token timer) { timer_ = timer; }
  void AllEnded() {
    if (timer_) timers_->Cancel(*timer_);
    if (auto done = Take(); done != nullptr) done(absl::OkStatus());
  }

 private:
  TimerQueue* const timers_;
  std::optional<TimerQueue::Token> timer_;  // set before the result has copies
  Mutex mu_;
  std::function<void(absl::Status)> done_ GUARDED_BY(mu_);
};

}  // namespace

std::shared_ptr<void> AnswerInTime(TimerQueue* timers, absl::Time deadline, std::function<absl::Status()> late,
                                   std::function<void(absl::Status)> done) {
  const auto answer = std::make_shared<TimedAnswer>(timers, std::move(done));
  if (timers != nullptr && deadline != absl::InfiniteFuture()) {
    answer->SetTimer(
        timers->Schedule(deadline - AnswerMargin(deadline - MonotonicNow()), [answer, late = std::move(late)] {
          if (auto done = answer->Take(); done != nullptr) done(late());
        }));
  }
  return std::shared_ptr<void>(nullptr, [answer](void*) { answer->AllEnded(); });
}

}  // namespace weir
