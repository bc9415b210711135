#include "graph/placement/variable_spread.h"

#include <algorithm>

namespace weir {

int VariableSpread::Next(int64_t bytes) {
  const size_t device = by_ == SpreadBy::kTurns
                            ? turn_++ % bytes_.size()
                            : static_cast<size_t>(std::min_element(bytes_.begin(), bytes_.end()) - bytes_.begin());
  Count(static_cast<int>(device), bytes);
  return static_cast<int>(device);
}

// Empty variables have a small weight, so that they are spread too.
void VariableSpread::Count(int device, int64_t bytes) { bytes_[device] += std::max<int64_t>(1, bytes); }

}  // namespace weir
