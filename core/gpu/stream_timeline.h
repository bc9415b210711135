// Tracks the progress of a stream, for users that must not touch memory too early.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "core/gpu/gpu_runtime.h"

namespace weir {

// Positions number a stream's operations in order. An event is recorded only every so many positions, or when a
// position that no event covers is queried. Not thread-safe.
class StreamTimeline {
 public:
  explicit StreamTimeline(GpuStream* stream) : stream_(stream) {}

  GpuStream* stream() const { return stream_; }
  // The position after everything enqueued so far. A failure to record an event is reported when the position is
  // queried.
  uint64_t Mark();
  // According to the last Poll; false while no event covers it.
  bool HasPassed(uint64_t position) const { return position <= passed_; }
  // Updates how far the stream has progressed. Never blocks.
  absl::Status Poll();
  // Whether an event covers the position, or one can be recorded now.
  bool CanCover(uint64_t position) const { return position <= covered_ || !stream_->IsCapturing(); }
  // Ensures that Poll will report the position.
  absl::Status Cover(uint64_t position) { return position <= covered_ ? absl::OkStatus() : RecordNow(); }
  // Orders later operations of `waiter` after the position.
  absl::Status MakeWait(GpuStream* waiter, uint64_t position);

 private:
  static constexpr uint64_t kMarksPerEvent = 32;
  struct Checkpoint {
    uint64_t position = 0;
    std::unique_ptr<GpuEvent> event;
  };

  absl::Status RecordNow();

  GpuStream* const stream_;
  uint64_t position_ = 0;  // the last one assigned
  uint64_t covered_ = 0;   // covered by an event
  uint64_t passed_ = 0;
  std::deque<Checkpoint> checkpoints_;
  std::vector<std::unique_ptr<GpuEvent>> spare_;
};

}  // namespace weir
