// Samples of classes to train against, for outputs with many classes.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily CandidateSamplingFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterCandidateSamplerOps(OpRegistry& ops);

absl::Status RegisterCandidateSamplingNotDifferentiable(OpRegistry& ops);

absl::Status RegisterCandidateSamplerKernels(KernelRegistry& kernels);

}  // namespace weir
