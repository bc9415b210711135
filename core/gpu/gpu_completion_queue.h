// Notifies the host when streams reach a point, even if the device fails.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "core/gpu/gpu_runtime.h"
#include "core/mutex.h"

namespace weir {

// Polls events on one thread instead of blocking one thread per wait. Thread-safe.
// - A callback runs exactly once, on that thread, with no lock held: with OK when everything enqueued on its stream so
//   far is done; with the device's error if it breaks; with DEADLINE_EXCEEDED, naming the stream, if that takes longer
//   than Options::patience (the device is assumed to hang).
// - Callbacks must be short.
// - The destructor waits for pending callbacks.
class GpuCompletionQueue {
 public:
  using Callback = absl::AnyInvocable<void(absl::Status)>;
  struct Options {
    absl::Duration patience = absl::Minutes(10);
    // Polling interval while callbacks are pending. The thread blocks on the oldest event, so completions on a single
    // stream are reported at once.
    absl::Duration interval = absl::Microseconds(50);
  };

  explicit GpuCompletionQueue(Options options);
  ~GpuCompletionQueue();
  GpuCompletionQueue(const GpuCompletionQueue&) = delete;

  // `stream` lives until the callback has run.
  void Then(GpuStream* stream, Callback callback);

 private:
  struct Pending {
    absl::StatusOr<std::unique_ptr<GpuEvent>> event;
    GpuStream* stream = nullptr;
    absl::Time deadline;
    Callback callback;
  };
  absl::StatusOr<std::unique_ptr<GpuEvent>> RecordOn(GpuStream* stream);
  void Loop();
  // Removes completed entries from `pending` and runs their callbacks.
  void Sweep(std::vector<Pending>* pending);

  const Options options_;
  Mutex mu_;
  std::condition_variable changed_;
  std::vector<Pending> added_ GUARDED_BY(mu_);
  bool stopping_ GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace weir
