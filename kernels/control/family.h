// Control flow, calls of functions, sends and receives, and tensors kept by a session.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily ControlFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterControlOps(OpRegistry& ops);
absl::Status RegisterMapDefunOps(OpRegistry& ops);
absl::Status RegisterWireOps(OpRegistry& ops);
absl::Status RegisterCommitOps(OpRegistry& ops);

absl::Status RegisterCallGradients(OpRegistry& ops);
absl::Status RegisterControlNotDifferentiable(OpRegistry& ops);

absl::Status RegisterCommitKernels(KernelRegistry& kernels);
absl::Status RegisterCallKernels(KernelRegistry& kernels);
absl::Status RegisterControlFlowKernels(KernelRegistry& kernels);
absl::Status RegisterFunctionLoopKernels(KernelRegistry& kernels);
absl::Status RegisterMapDefunKernels(KernelRegistry& kernels);
absl::Status RegisterRefSelectKernels(KernelRegistry& kernels);
absl::Status RegisterTransferKernels(KernelRegistry& kernels);
absl::Status RegisterSessionTensorKernels(KernelRegistry& kernels);
absl::Status RegisterWireKernels(KernelRegistry& kernels);
absl::Status RegisterGpuCopyKernels(KernelRegistry& kernels);

}  // namespace weir
