// A ring of frames in memory that two processes share: one writes, the other reads.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>

#include "absl/types/span.h"
#include "core/mutex.h"
#include "core/status.h"

namespace weir {

// At the start of the memory; the frames follow. Positions count bytes from the beginning of time. Each end keeps the
// position that it decides itself, and believes what the other writes only where it can be true.
struct FrameRingState {
  alignas(64) std::atomic<uint64_t> written;
  alignas(64) std::atomic<uint64_t> released;
  alignas(64) std::atomic<uint32_t> writer_waits;  // for room: who releases some is to ring for the writer
  alignas(64) std::atomic<uint32_t> is_closed;     // by either
  std::atomic<uint32_t> is_claimed;                // by the one process that has opened what the other made
};
static_assert(sizeof(FrameRingState) == 256);

struct FrameRingHead {
  uint32_t kind = 0;  // 0: no frame, but the rest of the memory before its start follows
  uint32_t channel = 0;
  uint64_t bytes = 0;
};

constexpr uint64_t kFrameUnit = 64;  // frames, heads and bytes start at multiples of it
constexpr uint64_t FrameRingSpace(uint64_t bytes) {
  return kFrameUnit + (bytes + kFrameUnit - 1) / kFrameUnit * kFrameUnit;
}

// Not thread-safe, but for HasRoomAgain.
class FrameRingWriter {
 public:
  // `capacity` bytes at `frames`, a multiple of kFrameUnit.
  FrameRingWriter(FrameRingState* state, char* frames, uint64_t capacity)
      : state_(state), frames_(frames), capacity_(capacity) {}

  // A frame is at most half of the ring, so that it fits whatever place it starts at.
  uint64_t max_frame_bytes() const { return capacity_ / 2 - kFrameUnit; }
  // Writes and publishes a frame. False: there is no room. Then the reader rings when it has made some. InvalidArgument
  // when the reader has released what was never written.
  absl::StatusOr<bool> Write(const FrameRingHead& head, absl::Span<const char> bytes);
  // After a Write without room: whether the reader has released something.
  bool HasRoomAgain() const { return state_->writer_waits.load() == 0; }

 private:
  absl::StatusOr<bool> HasRoom(uint64_t bytes);

  FrameRingState* const state_;
  char* const frames_;
  const uint64_t capacity_;
  uint64_t written_ = 0;
  uint64_t released_ = 0;  // as last seen
};

// Read and HasFrame are for one thread at a time, Release for any.
class FrameRingReader {
 public:
  struct Frame {
    FrameRingHead head;
    absl::Span<const char> bytes;  // which the writer can change at any time
    uint64_t begin = 0;            // for Release
  };

  FrameRingReader(FrameRingState* state, const char* frames, uint64_t capacity)
      : state_(state), frames_(frames), capacity_(capacity) {}

  bool HasFrame() const { return state_->written.load() != read_; }
  // nullopt: there is none now. InvalidArgument for what no writer of ours writes.
  absl::StatusOr<std::optional<Frame>> Read();
  // Gives the frame's memory back, once those before it are given back too. True: ring for the writer.
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
