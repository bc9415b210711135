// Cancellation of work in flight.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "absl/container/flat_hash_map.h"
#include "core/api.h"
#include "core/mutex.h"
#include "core/status.h"

namespace WEIR_API weir {

// Thread-safe. A callback runs at most once, on the thread that starts the cancellation, with no lock held. A child is
// cancelled with its parent and must not outlive it.
class CancellationManager {
 public:
  using Token = int64_t;
  static constexpr Token kInvalidToken = -1;

  CancellationManager() = default;
  explicit CancellationManager(CancellationManager* parent);
  ~CancellationManager();
  CancellationManager(const CancellationManager&) = delete;

  // Runs every registered callback, then rejects new ones. Later calls do nothing. `reason` is the status that waiters
  // report.
  void StartCancel(absl::Status reason = absl::CancelledError("The step was cancelled"));
  bool IsCancelled() const { return cancelled_.load(std::memory_order_acquire); }
  // OK until cancelled.
  absl::Status status() const;

  // Returns kInvalidToken if cancellation has started: `callback` will not run, and the caller acts as cancelled.
  Token Register(std::function<void()> callback);
  // True: the callback will never run. False: it ran; if it was running, this call waited for it (except when called
  // from within a callback, which would wait for itself).
  bool Deregister(Token token);
  // Like Deregister, but never waits.
  bool TryDeregister(Token token);

 private:
  mutable Mutex mu_;
  std::condition_variable callbacks_done_;
  std::atomic<bool> cancelled_{false};
  bool running_callbacks_ GUARDED_BY(mu_) = false;
  std::thread::id canceller_ GUARDED_BY(mu_);
  absl::Status reason_ GUARDED_BY(mu_);
  Token next_token_ GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<Token, std::function<void()>> callbacks_ GUARDED_BY(mu_);
  CancellationManager* const parent_ = nullptr;
  Token parent_token_ = kInvalidToken;
};

}  // namespace weir
