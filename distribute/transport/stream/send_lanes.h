// The queue of frames to be sent over a stream.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "distribute/transport/frames/frame_link.h"

namespace weir {

// Two lanes, so that small frames do not wait behind large ones of other channels. Not thread-safe.
// - Frames of one channel leave in the order in which they came.
// - Large frames do not starve: they never wait for later frames.
class SendLanes {
 public:
  struct Frame {
    FrameHead head;
    ReceivedBytes bytes;
  };
  // Larger frames are large.
  static constexpr size_t kSmallBytes = 64 << 10;

  uint64_t bytes() const { return bytes_; }
  // The number of queued frames that end a request of the peer.
  size_t answers() const { return answers_; }
  void Push(const FrameHead& head, ReceivedBytes bytes);
  // The next frame of each lane; null: none may leave.
  const Frame* NextSmall() const { return small_.empty() ? nullptr : &small_.front(); }
  const Frame* NextLarge() const;
  Frame PopSmall();
  Frame PopLarge();

 private:
  void Leaves(const Frame& frame);

  struct Large {
    Frame frame;
    uint64_t after = 0;  // the number of small frames that must leave first
  };

  std::deque<Frame> small_;
  std::deque<Large> large_;
  absl::flat_hash_map<uint32_t, int> large_channels_;  // channels with frames in large_, and how many
  uint64_t small_pushed_ = 0, small_popped_ = 0;
  uint64_t bytes_ = 0;
  size_t answers_ = 0;
};

}  // namespace weir
