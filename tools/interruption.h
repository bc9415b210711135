// Ctrl-C, for commands that repeat something until it comes.
#pragma once

#include <atomic>
#include <thread>

#include "absl/time/time.h"
#include "core/mutex.h"
#include "core/threads/cancellation.h"

namespace weir {

// While it lives, SIGINT and SIGTERM interrupt the command instead of ending the process. Make it before other threads,
// which inherit that the signals are blocked.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;

  // For calls that are to end with it.
  CancellationManager* cancellation() { return &cancellation_; }
  bool has_come() const { return has_come_.load(); }
  // Returns false at once when it comes.
  bool Sleep(absl::Duration duration);

 private:
  void Watch();

  CancellationManager cancellation_;
  std::atomic<bool> has_come_{false}, ending_{false};
  Mutex mu_;
  std::condition_variable came_;
  std::thread thread_;
};

}  // namespace weir
