#include "core/threads/blocking_pool.h"

#include <chrono>
#include <system_error>
#include <utility>

#include "core/threads/compute_pool.h"
#include "core/threads/flush_denormals.h"

namespace weir {
namespace {

constexpr std::chrono::seconds kIdleTime{10};

}  // namespace

BlockingPool::~BlockingPool() {
  Threads finished;
  {
    MutexLock lock(mu_);
    stopping_ = true;
    work_.notify_all();
    while (!threads_.empty()) lock.Wait(thread_ended_);
    finished.swap(finished_);
  }
  JoinFinished(std::move(finished));
}

void BlockingPool::Schedule(Task task) {
  Threads finished;
  Task alone;
  {
    MutexLock lock(mu_);
    queue_.push_back(std::move(task));
    if (static_cast<int>(queue_.size()) <= idle_) {
      work_.notify_one();
    } else if (static_cast<int>(threads_.size()) < max_threads_) {
      StartThread();
    }
    finished.swap(finished_);
    if (threads_.empty()) {  // no thread would ever run it
      alone = std::move(queue_.back());
      queue_.pop_back();
    }
  }
  JoinFinished(std::move(finished));
  if (alone) alone();
}

// If the system has no thread to give, the task waits for an existing one.
void BlockingPool::StartThread() {
  auto self = threads_.emplace(threads_.end());
  try {
    *self = std::thread([this, self] { Run(self); });
  } catch (const std::system_error&) {
    threads_.erase(self);
  }
}

void BlockingPool::JoinFinished(Threads finished) {
  for (std::thread& thread : finished) thread.join();
}

void BlockingPool::Run(Threads::iterator self) {
  SetThreadName(name_);
  const FlushDenormals flush;
  for (;;) {
    Task task;
    {
      MutexLock lock(mu_);
      const auto deadline = std::chrono::steady_clock::now() + kIdleTime;
      ++idle_;
      while (queue_.empty() && !stopping_ && lock.WaitUntil(work_, deadline) == std::cv_status::no_timeout) {
      }
      --idle_;
      if (queue_.empty()) {
        finished_.splice(finished_.end(), threads_, self);
        thread_ended_.notify_all();
        return;
      }
      task = std::move(queue_.front());
      queue_.pop_front();
    }
    task();
  }
}

}  // namespace weir
