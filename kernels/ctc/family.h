// The ctc family: see README.md beside this file.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily CtcFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterCtcKernels(KernelRegistry& kernels);
absl::Status RegisterCtcBeamKernels(KernelRegistry& kernels);

}  // namespace weir
