// Variables, by resource and by reference.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily StateFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterStateOps(OpRegistry& ops);

absl::Status RegisterStateGradients(OpRegistry& ops);
absl::Status RegisterStateNotDifferentiable(OpRegistry& ops);

absl::Status RegisterAssignUpdateKernels(KernelRegistry& kernels);
absl::Status RegisterRefVariableKernels(KernelRegistry& kernels);
absl::Status RegisterResourceGatherKernels(KernelRegistry& kernels);
absl::Status RegisterResourceVariableKernels(KernelRegistry& kernels);
absl::Status RegisterScatterNdUpdateKernels(KernelRegistry& kernels);
absl::Status RegisterScatterUpdateKernels(KernelRegistry& kernels);
absl::Status RegisterVariableSnapshotKernels(KernelRegistry& kernels);
absl::Status RegisterGpuVariableSnapshotKernels(KernelRegistry& kernels);
absl::Status RegisterGpuVariableKernels(KernelRegistry& kernels);

}  // namespace weir
