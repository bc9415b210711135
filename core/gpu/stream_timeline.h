// How far a stream has come, for those who must not touch memory before it has.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "core/gpu/gpu_runtime.h"

namespace weir {

// Positions are given out in the order of a stream's operations. An event is recorded only for every so many of them,
// or when somebody asks about one that no event covers yet. Not thread-safe.
class StreamTimeline {
 public:
  explicit StreamTimeline(GpuStream* stream) : stream_(stream) {}

  GpuStream* stream() const { return stream_; }
  // The position behind all that is enqueued now. A failure to record shows when the position is asked for.
  uint64_t Mark();
  // What the last Poll found; false as long as no event covers it.
  bool HasPassed(uint64_t position) const { return position <= passed_; }
  // Asks how far the stream has come. Never blocks.
  absl::Status Poll();
  // Whether an event covers the position, or one can be recorded now.
  bool CanCover(uint64_t position) const { return position <= covered_ || !stream_->IsCapturing(); }
  // Sees to it that Poll will hear of the position.
  absl::Status Cover(uint64_t position) { return position <= covered_ ? absl::OkStatus() : RecordNow(); }
  // What follows on `waiter` comes after the position.
  absl::Status MakeWait(GpuStream* waiter, uint64_t position);

 private:
  static constexpr uint64_t kMarksPerEvent = 32;
  struct Checkpoint {
    uint64_t position = 0;
    std::unique_ptr<GpuEvent> event;
  };

  absl::Status RecordNow();

  GpuStream* const stream_;
  uint64_t position_ = 0;  // the last given out
  uint64_t covered_ = 0;   // by an event
  uint64_t passed_ = 0;
  std::deque<Checkpoint> checkpoints_;
  std::vector<std::unique_ptr<GpuEvent>> spare_;
};

}  // namespace weir
