// What waits to be sent over a stream.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "distribute/transport/frames/frame_link.h"

namespace weir {

// Frames of one channel leave in the order in which they came. Small ones do not wait behind the large ones of other
// channels, nor do these starve: they wait for none that came later. Not thread-safe.
class SendLanes {
 public:
  struct Frame {
    FrameHead head;
    ReceivedBytes bytes;
  };
  // Frames beyond it are large.
  static constexpr size_t kSmallBytes = 64 << 10;

  uint64_t bytes() const { return bytes_; }
  // How many frames wait that end a request of the peer's.
  size_t answers() const { return answers_; }
  void Push(const FrameHead& head, ReceivedBytes bytes);
  // The next of each lane; null: there is none that may leave.
  const Frame* NextSmall() const { return small_.empty() ? nullptr : &small_.front(); }
  const Frame* NextLarge() const;
  Frame PopSmall();
  Frame PopLarge();

 private:
  void Leaves(const Frame& frame);

  struct Large {
    Frame frame;
    uint64_t after = 0;  // so many small ones have left
  };

  std::deque<Frame> small_;
  std::deque<Large> large_;
  absl::flat_hash_map<uint32_t, int> large_channels_;  // those with frames in large_, and how many
  uint64_t small_pushed_ = 0, small_popped_ = 0;
  uint64_t bytes_ = 0;
  size_t answers_ = 0;
};

}  // namespace weir
