// Ops that print, check and watch tensors, and ops that test a runtime.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily DebugFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterDebugOps(OpRegistry& ops);
absl::Status RegisterPrintOps(OpRegistry& ops);
absl::Status RegisterProbeOps(OpRegistry& ops);
absl::Status RegisterRuntimeInfoOps(OpRegistry& ops);

absl::Status RegisterDebugGradients(OpRegistry& ops);
absl::Status RegisterCheckGradients(OpRegistry& ops);
absl::Status RegisterDebugNotDifferentiable(OpRegistry& ops);

absl::Status RegisterCheckNumericsKernels(KernelRegistry& kernels);
absl::Status RegisterDebugKernels(KernelRegistry& kernels);
absl::Status RegisterImmutableConstKernels(KernelRegistry& kernels);
absl::Status RegisterPrintKernels(KernelRegistry& kernels);
absl::Status RegisterProbeKernels(KernelRegistry& kernels);
absl::Status RegisterRuntimeInfoKernels(KernelRegistry& kernels);
absl::Status RegisterTensorHealthKernels(KernelRegistry& kernels);
absl::Status RegisterGpuCheckNumericsKernels(KernelRegistry& kernels);

}  // namespace weir
