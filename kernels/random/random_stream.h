// The stream from which random ops take their numbers, on any device.
#pragma once

#include <mutex>

#include "core/kernel/op_kernel.h"
#include "kernels/random/philox.h"

namespace weir {

// What a run of a stateful op sets aside for each number, in groups, whatever it uses.
inline constexpr uint64_t kGroupsPerOutput = 256;

// Reads minval and maxval, scalars of one integer type.
absl::Status ReadBounds(const Tensor& low, const Tensor& high, int64_t* low_value, int64_t* high_value);

// The stream of a stateful op: each run takes its own stretch. Thread-safe.
class GuardedPhilox {
 public:
  // From attributes seed and seed2; both zero give an unpredictable stream.
  absl::Status Init(OpKernelConstruction& ctx);
  // A stream of which `groups` groups are the caller's.
  Philox Reserve(uint64_t groups);

 private:
  std::mutex mutex_;
  Philox stream_;
};

}  // namespace weir
