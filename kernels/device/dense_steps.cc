#include "kernels/device/dense_steps.h"

namespace weir {

DimVector DenseSteps(absl::Span<const int64_t> sizes) {
  DimVector steps(sizes.size());
  uint64_t step = 1;  // of an empty array it may exceed what is counted with: no element asks for it
  for (size_t i = sizes.size(); i-- > 0; step *= sizes[i]) steps[i] = static_cast<int64_t>(step);
  return steps;
}

}  // namespace weir
