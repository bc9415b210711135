// GPU kernels that GpuAgreementTest does not compare, with the reason and the tests that run them.
#pragma once

#include <vector>

#include "tests/gpu/kernel_coverage_testing.h"

namespace weir {

struct CheckedElsewhere {
  const char* why;
  std::vector<KernelTypes> what;  // an op with certain types, or without any for all that it has
};
const std::vector<CheckedElsewhere>& KernelsCheckedElsewhere();

}  // namespace weir
