// The candidate sampling family: see README.md beside this file.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily CandidateSamplingFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterCandidateSamplerOps(OpRegistry& ops);
absl::Status RegisterCandidateSamplingNotDifferentiable(OpRegistry& ops);

absl::Status RegisterCandidateSamplerKernels(KernelRegistry& kernels);

}  // namespace weir
