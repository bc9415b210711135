// The memory that a test shares with the processes whose wall clock it sets.
#pragma once

#include <atomic>
#include <cstdint>

struct ClockOffset {
  std::atomic<int64_t> seconds;   // the wall clock is the true time plus this
  std::atomic<int64_t> followed;  // how many times a process read a time that is not the true one
};
