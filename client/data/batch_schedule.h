// Batch sizes that change as training goes on.
#pragma once

#include <cstdint>
#include <vector>

namespace weir {

// `batches` batches of `size` elements; then the next stage. The last stage has no end, whatever its `batches`.
struct BatchStage {
  int64_t batches = 0;
  int64_t size = 0;
};
using BatchSchedule = std::vector<BatchStage>;

// From `size`, multiplied by `factor` after each `batches` batches, up to `largest`.
BatchSchedule GrowingBatches(int64_t size, double factor, int64_t batches, int64_t largest);

}  // namespace weir
