// Nearest neighbors and initial centers for k-means.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily ClusteringFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterClusterOps(OpRegistry& ops);

absl::Status RegisterClusterKernels(KernelRegistry& kernels);

}  // namespace weir
