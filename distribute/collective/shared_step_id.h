// Ids of steps that several masters run together.
#pragma once

#include <cstdint>

namespace weir {

// As in TensorFlow, the highest eight bits are clear; ids from a single master have one of them set. 20 bits identify
// the count, the rest is the position in it. Only steps of one count are ordered.
class SharedStepId {
 public:
  static constexpr int64_t kMask = (int64_t{1} << 56) - 1;

  static int64_t First(uint64_t count, int64_t place) {
    return static_cast<int64_t>((count << kPlaceBits) & static_cast<uint64_t>(kMask)) | place;
  }
  static int64_t Next(int64_t step_id) { return (step_id + 1) & kMask; }
  static bool IsShared(int64_t step_id) { return (step_id & ~kMask) == 0; }
  static int64_t CountOf(int64_t step_id) { return step_id >> kPlaceBits; }
  static int64_t PlaceOf(int64_t step_id) { return step_id & ((int64_t{1} << kPlaceBits) - 1); }
  // True if both are of one count and `step_id` is later.
  static bool IsLater(int64_t step_id, int64_t than) { return CountOf(step_id) == CountOf(than) && step_id > than; }

 private:
  static constexpr int kPlaceBits = 36;
};

}  // namespace weir
