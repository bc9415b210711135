// Random choices that a seed repeats, on every machine.
#pragma once

#include <cstdint>

#include "absl/time/time.h"

namespace weir::chaos {

class Dice {
 public:
  // The same two numbers give the same choices.
  Dice(uint64_t seed, uint64_t run) : state_(seed * 0x9e3779b97f4a7c15 + run * 0xd1342543de82ef95) {}

  // In [0, count).
  int64_t Below(int64_t count) { return static_cast<int64_t>(Next() % static_cast<uint64_t>(count)); }
  // In [low, high].
  int64_t Between(int64_t low, int64_t high) { return low + Below(high - low + 1); }
  // In [0, limit), in whole microseconds.
  absl::Duration Time(absl::Duration limit) { return absl::Microseconds(Below(absl::ToInt64Microseconds(limit))); }
  template <typename List>
  const typename List::value_type& Pick(const List& list) {
    return list[static_cast<size_t>(Below(static_cast<int64_t>(list.size())))];
  }

 private:
  // SplitMix64 (Steele, Lea and Flood 2014).
  uint64_t Next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  uint64_t state_;
};

}  // namespace weir::chaos
