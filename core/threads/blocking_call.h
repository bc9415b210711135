// Blocks until an asynchronous call is done.
#pragma once

#include <condition_variable>
#include <optional>
#include <utility>

#include "core/mutex.h"
#include "core/status.h"

namespace weir {

// The result of one asynchronous call, which must end by itself (every call has a deadline).
template <typename Result>
class Awaited {
 public:
  void Set(Result result) {
    MutexLock lock(mu_);
    result_ = std::move(result);
    ready_.notify_all();  // under the lock: the waiter may destroy this as soon as it sees the result
  }
  Result Take() {
    MutexLock lock(mu_);
    while (!result_.has_value()) lock.Wait(ready_);
    return std::move(*result_);
  }

 private:
  Mutex mu_;
  std::condition_variable ready_;
  std::optional<Result> result_ GUARDED_BY(mu_);
};

// Await([&](auto done) { worker->GetStatusAsync(…, done); })
template <typename Result = absl::Status, typename Start>
Result Await(Start&& start) {
  Awaited<Result> awaited;
  start([&awaited](Result result) { awaited.Set(std::move(result)); });
  return awaited.Take();
}

}  // namespace weir
