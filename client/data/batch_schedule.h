// Batch sizes that change during training.
#pragma once

#include <cstdint>
#include <vector>

#include "core/api.h"

namespace WEIR_API weir {

// `batches` batches of `size` elements, followed by the next stage. The last stage is unlimited, whatever its
// `batches`.
struct BatchStage {
  int64_t batches = 0;
  int64_t size = 0;
};
using BatchSchedule = std::vector<BatchStage>;

// Starts with `size` and multiplies it by `factor` after each `batches` batches, up to `largest`.
BatchSchedule GrowingBatches(int64_t size, double factor, int64_t batches, int64_t largest);

}  // namespace weir
