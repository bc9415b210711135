// Ops that fold rows of equal segment id together.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily SegmentFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterSegmentOps(OpRegistry& ops);

absl::Status RegisterSegmentGradients(OpRegistry& ops);

absl::Status RegisterSegmentKernels(KernelRegistry& kernels);
absl::Status RegisterGpuSegmentKernels(KernelRegistry& kernels);

}  // namespace weir
