// A ring of frames in memory shared by two processes: one writes, the other reads.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>

#include "absl/types/span.h"
#include "core/mutex.h"
#include "core/status.h"

namespace weir {

// At the start of the memory; the frames follow. Positions count all bytes ever written. Each end keeps its own
// position privately and checks the other's for plausibility.
struct FrameRingState {
  alignas(64) std::atomic<uint64_t> written;
  alignas(64) std::atomic<uint64_t> released;
  alignas(64) std::atomic<uint32_t> writer_waits;  // for room: the reader must ring when it releases some
  alignas(64) std::atomic<uint32_t> is_closed;     // by either end
  std::atomic<uint32_t> is_claimed;                // by the one process that has opened it
};
static_assert(sizeof(FrameRingState) == 256);

struct FrameRingHead {
  uint32_t kind = 0;  // 0: not a frame; the rest of the memory is skipped
  uint32_t channel = 0;
  uint64_t bytes = 0;
};

constexpr uint64_t kFrameUnit = 64;  // alignment of frames, heads and bytes
constexpr uint64_t FrameRingSpace(uint64_t bytes) {
  return kFrameUnit + (bytes + kFrameUnit - 1) / kFrameUnit * kFrameUnit;
}

// Not thread-safe, except HasRoomAgain.
class FrameRingWriter {
 public:
  // `capacity` bytes at `frames`, a multiple of kFrameUnit.
  FrameRingWriter(FrameRingState* state, char* frames, uint64_t capacity)
      : state_(state), frames_(frames), capacity_(capacity) {}

  // At most half of the ring, so that a frame fits at any start position.
  uint64_t max_frame_bytes() const { return capacity_ / 2 - kFrameUnit; }
  // Writes and publishes a frame. False if there is no room: the reader rings once it has made some. InvalidArgument if
  // the reader claims to have released bytes that were never written.
  absl::StatusOr<bool> Write(const FrameRingHead& head, absl::Span<const char> bytes);
  // After a Write without room: true if the reader has released memory since.
  bool HasRoomAgain() const { return state_->writer_waits.load() == 0; }

 private:
  absl::StatusOr<bool> HasRoom(uint64_t bytes);

  FrameRingState* const state_;
  char* const frames_;
  const uint64_t capacity_;
  uint64_t written_ = 0;
  uint64_t released_ = 0;  // as last read
};

// Read and HasFrame are for one thread at a time; Release is for any.
class FrameRingReader {
 public:
  struct Frame {
    FrameRingHead head;
    absl::Span<const char> bytes;  // the writer can change them at any time
    uint64_t begin = 0;            // for Release
  };

  FrameRingReader(FrameRingState* state, const char* frames, uint64_t capacity)
      : state_(state), frames_(frames), capacity_(capacity) {}

  bool HasFrame() const { return state_->written.load() != read_; }
  // nullopt if there is none now. InvalidArgument for content that a correct writer never produces.
  absl::StatusOr<std::optional<Frame>> Read();
  // Releases the frame's memory, once all earlier frames are released too. True: ring for the writer.
  bool Release(uint64_t begin);

 private:
  struct Held {
    uint64_t begin = 0, end = 0;
    bool is_released = false;
  };

  FrameRingState* const state_;
  const char* const frames_;
  const uint64_t capacity_;
  uint64_t read_ = 0;
  Mutex mu_;
  uint64_t released_ GUARDED_BY(mu_) = 0;
  std::deque<Held> held_ GUARDED_BY(mu_);
};

}  // namespace weir
