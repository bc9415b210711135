// Optimizer steps on variables.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily TrainingFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterTrainingOps(OpRegistry& ops);
absl::Status RegisterFusedTrainingOps(OpRegistry& ops);

absl::Status RegisterAdaptiveRules(KernelRegistry& kernels);
absl::Status RegisterMomentumRules(KernelRegistry& kernels);
absl::Status RegisterProximalRules(KernelRegistry& kernels);
absl::Status RegisterGpuApplyKernels(KernelRegistry& kernels);
absl::Status RegisterGpuFusedApplyKernels(KernelRegistry& kernels);

}  // namespace weir
