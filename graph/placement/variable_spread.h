// TensorFlow's ways to spread variables over devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir {

enum class SpreadBy {
  kTurns,  // one device after the other, as RoundRobinStrategy
  kBytes   // where the fewest bytes are so far, as GreedyLoadBalancingStrategy with byte_size_load_fn
};

// Not thread-safe.
class VariableSpread {
 public:
  // `devices` is at least 1.
  VariableSpread(SpreadBy by, int devices) : by_(by), bytes_(devices, 0) {}

  // The device of the next variable, which is counted there.
  int Next(int64_t bytes);
  // A variable of that size is on `device` already.
  void Count(int device, int64_t bytes);

 private:
  const SpreadBy by_;
  std::vector<int64_t> bytes_;  // by device
  size_t turn_ = 0;
};

}  // namespace weir
