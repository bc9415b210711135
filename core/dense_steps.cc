#include "core/dense_steps.h"

namespace weir {

DimVector DenseSteps(absl::Span<const int64_t> sizes) {
  DimVector steps(sizes.size());
  int64_t step = 1;
  for (size_t i = sizes.size(); i-- > 0; step *= sizes[i]) steps[i] = step;
  return steps;
}

}  // namespace weir
