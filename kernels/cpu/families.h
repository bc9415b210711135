// The families of CPU kernels that RegisterAllKernels registers.
#pragma once

#include "core/kernel_registry.h"
#include "core/status.h"

namespace weir {

absl::Status RegisterUnaryKernels(KernelRegistry& kernels);
absl::Status RegisterBinaryKernels(KernelRegistry& kernels);
absl::Status RegisterCastKernels(KernelRegistry& kernels);
absl::Status RegisterAttentionKernels(KernelRegistry& kernels);
absl::Status RegisterMatMulKernels(KernelRegistry& kernels);
absl::Status RegisterReductionKernels(KernelRegistry& kernels);
absl::Status RegisterSelectKernels(KernelRegistry& kernels);
absl::Status RegisterMiscellaneousMathKernels(KernelRegistry& kernels);
absl::Status RegisterSegmentKernels(KernelRegistry& kernels);
absl::Status RegisterRandomKernels(KernelRegistry& kernels);
absl::Status RegisterStatelessRandomKernels(KernelRegistry& kernels);
absl::Status RegisterArrayKernels(KernelRegistry& kernels);
absl::Status RegisterStateKernels(KernelRegistry& kernels);
absl::Status RegisterTrainingKernels(KernelRegistry& kernels);
// NoOp, constants, placeholders and identities.
absl::Status RegisterValueKernels(KernelRegistry& kernels);
absl::Status RegisterControlFlowKernels(KernelRegistry& kernels);
absl::Status RegisterTransferKernels(KernelRegistry& kernels);
absl::Status RegisterCallKernels(KernelRegistry& kernels);
absl::Status RegisterNnKernels(KernelRegistry& kernels);
absl::Status RegisterIoKernels(KernelRegistry& kernels);
absl::Status RegisterStackKernels(KernelRegistry& kernels);
absl::Status RegisterTensorArrayKernels(KernelRegistry& kernels);
absl::Status RegisterTensorListKernels(KernelRegistry& kernels);
absl::Status RegisterQueueKernels(KernelRegistry& kernels);
absl::Status RegisterLookupKernels(KernelRegistry& kernels);
absl::Status RegisterStringKernels(KernelRegistry& kernels);

}  // namespace weir
