#include "core/threads/reserved_threads.h"

#include <system_error>
#include <utility>

namespace weir {

ReservedThreads::~ReservedThreads() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

absl::Status ReservedThreads::Start(int threads) {
  try {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Loop(); });
  } catch (const std::system_error& error) {
    return errors::ResourceExhausted("Only ", threads_.size(), " of ", threads,
                                     " threads can be reserved for calls that end others (", error.what(),
                                     "): raise the limits (ulimit -a)");
  }
  return absl::OkStatus();
}

void ReservedThreads::Run(std::function<void()> work) {
  {
    MutexLock lock(mu_);
    queue_.push_back(std::move(work));
  }
  changed_.notify_one();
}

void ReservedThreads::Loop() {
  while (true) {
    std::function<void()> work;
    {
      MutexLock lock(mu_);
      while (queue_.empty() && !stopping_) lock.Wait(changed_);
      if (queue_.empty()) return;
      work = std::move(queue_.front());
      queue_.pop_front();
    }
    work();
  }
}

}  // namespace weir
