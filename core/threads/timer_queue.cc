#include "core/threads/timer_queue.h"

#include "core/clock.h"

namespace weir {

TimerQueue::~TimerQueue() {
  std::thread thread;
  {
    MutexLock lock(mu_);
    stopping_ = true;
    timers_.clear();
    thread = std::move(thread_);
  }
  changed_.notify_all();
  if (thread.joinable()) thread.join();
}

TimerQueue::Token TimerQueue::Schedule(absl::Time when, std::function<void()> callback) {
  bool wake;
  Token token;
  {
    MutexLock lock(mu_);
    if (!thread_.joinable()) thread_ = std::thread([this] { Loop(); });
    token = {when, next_id_++};
    timers_.emplace(token, std::move(callback));
    wake = when < wakes_at_;
  }
  if (wake) changed_.notify_all();
  return token;
}

void TimerQueue::Cancel(const Token& token) {
  MutexLock lock(mu_);
  timers_.erase(token);
  if (std::this_thread::get_id() == thread_.get_id()) return;
  while (running_id_ == token.second) lock.Wait(changed_);
}

void TimerQueue::Loop() {
  while (true) {
    std::function<void()> callback;
    {
      MutexLock lock(mu_);
      while (!stopping_ && (timers_.empty() || timers_.begin()->first.first > MonotonicNow())) {
        wakes_at_ = timers_.empty() ? absl::InfiniteFuture() : timers_.begin()->first.first;
        if (timers_.empty()) {
          lock.Wait(changed_);
        } else {
          lock.WaitUntil(changed_, ToSteady(wakes_at_));
        }
        wakes_at_ = absl::InfinitePast();
      }
      if (stopping_) return;
      running_id_ = timers_.begin()->first.second;
      callback = std::move(timers_.begin()->second);
      timers_.erase(timers_.begin());
    }
    callback();
    callback = nullptr;
    {
      MutexLock lock(mu_);
      running_id_ = -1;
    }
    changed_.notify_all();
  }
}

}  // namespace weir
