// The time of steps, by what tasks did in it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/trace/timeline.h"

namespace weir {

// The work of one task in all steps. Times are nanoseconds.
struct TaskUsage {
  struct Receives {
    int64_t waited = 0;    // for tensors of that task, while nothing was computed
    int64_t transfer = 0;  // of that: after the sender had sent
    int64_t bytes = 0;
    int64_t count = 0;
  };

  int steps = 0;         // in which it took part
  int64_t span = 0;      // the length of these steps
  int64_t computed = 0;  // the time with at least one kernel
  int64_t input_wait = 0;
  std::string input_node;                    // the iterator or queue of most of it
  std::map<std::string, Receives> receives;  // by sending task
  int64_t copied = 0;                        // the time with at least one copy between memories or tasks
  int64_t copied_bytes = 0;
  int64_t kernels = 0;
  int64_t small_kernels = 0;  // shorter than kSmallKernelNanos
  int64_t small_kernel_nanos = 0;
};

constexpr int64_t kSmallKernelNanos = 10'000;

// By task.
std::map<std::string, TaskUsage> UsageOf(const Timeline& timeline);

}  // namespace weir
