// Tells the host when streams have come to a point, whatever becomes of the device.
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

// One thread that looks at events, in place of a blocked thread for each wait. Thread-safe.
//
// A callback runs exactly once, on that thread, with no lock held: with OK when all that its stream had enqueued is
// done; with the device's error when it breaks; with DEADLINE_EXCEEDED, naming the stream, when the stream has not come
// there within Options::patience, which stands for a device that hangs. It must be short. Destruction waits for what is
// pending.
class GpuCompletionQueue {
 public:
  using Callback = absl::AnyInvocable<void(absl::Status)>;
  struct Options {
    absl::Duration patience = absl::Minutes(10);
    // Between two looks, while something is pending. The oldest event is waited for, so that work in one stream is
    // heard of at once.
    absl::Duration interval = absl::Microseconds(50);
  };

  explicit GpuCompletionQueue(Options options);
  ~GpuCompletionQueue();
  GpuCompletionQueue(const GpuCompletionQueue&) = delete;

  // `stream` lives until the callback ran.
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
  // Takes from `pending` what is over, and calls it.
  void Sweep(std::vector<Pending>* pending);

  const Options options_;
  Mutex mu_;
  std::condition_variable changed_;
  std::vector<Pending> added_ GUARDED_BY(mu_);
  bool stopping_ GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace weir
