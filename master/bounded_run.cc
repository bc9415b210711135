#include "master/bounded_run.h"

#include <optional>
#include <utility>

#include "core/mutex.h"

namespace weir {
namespace {

class BoundedRun : public std::enable_shared_from_this<BoundedRun> {
 public:
  BoundedRun(TimerQueue* timers, CancellationManager* caller, WorkerInterface::ResultCallback<RunGraphResult> done)
      : timers_(timers), caller_(caller), done_(std::move(done)) {}

  // Passed to the worker, which may use it after the caller's is gone.
  CancellationManager* cancellation() { return &cancellation_; }

  // False if the caller has cancelled the call: it has then ended.
  bool Watch(absl::Time deadline) {
    if (caller_ != nullptr) {
      const CancellationManager::Token token = caller_->Register([self = shared_from_this()] {
        const absl::Status reason = self->caller_->status();
        self->cancellation_.StartCancel(reason);
        self->End(reason);
      });
      if (token == CancellationManager::kInvalidToken) {
        End(caller_->status());
        return false;
      }
      if (!Keep(&token_, token)) caller_->TryDeregister(token);
    }
    if (timers_ != nullptr && deadline != absl::InfiniteFuture()) {
      const TimerQueue::Token timer = timers_->Schedule(deadline, [self = shared_from_this()] {
        const absl::Status reason = errors::DeadlineExceeded("It did not answer before the deadline of the call");
        self->cancellation_.StartCancel(reason);
        self->End(reason);
      });
      if (!Keep(&timer_, timer)) timers_->Cancel(timer);
    }
    return true;
  }

  void End(absl::StatusOr<RunGraphResult> result) {
    WorkerInterface::ResultCallback<RunGraphResult> done;
    std::optional<CancellationManager::Token> token;
    std::optional<TimerQueue::Token> timer;
    {
      MutexLock lock(mu_);
      if (std::exchange(has_ended_, true)) return;
      done = std::move(done_);
      token = token_;
      timer = timer_;
    }
    if (token) caller_->TryDeregister(*token);
    if (timer) timers_->Cancel(*timer);
    done(std::move(result));
  }

 private:
  // False if the run has ended, and will not release what it would keep.
  template <typename Token>
  bool Keep(std::optional<Token>* kept, const Token& token) {
    MutexLock lock(mu_);
    if (!has_ended_) *kept = token;
    return !has_ended_;
  }

  TimerQueue* const timers_;
  CancellationManager* const caller_;
  CancellationManager cancellation_;
  Mutex mu_;
  bool has_ended_ GUARDED_BY(mu_) = false;
  WorkerInterface::ResultCallback<RunGraphResult> done_ GUARDED_BY(mu_);
  std::optional<CancellationManager::Token> token_;  // guarded by mu_
  std::optional<TimerQueue::Token> timer_;           // guarded by mu_
};

}  // namespace

void RunGraphInTime(WorkerInterface& worker, TimerQueue* timers, const CallOptions& call,
                    std::shared_ptr<const RunGraphArgs> args, WorkerInterface::ResultCallback<RunGraphResult> done) {
  const auto run = std::make_shared<BoundedRun>(timers, call.cancellation, std::move(done));
  if (!run->Watch(call.deadline)) return;
  CallOptions inner = call;
  inner.cancellation = run->cancellation();
  worker.RunGraphAsync(inner, std::move(args),
                       [run](absl::StatusOr<RunGraphResult> result) { run->End(std::move(result)); });
}

}  // namespace weir
