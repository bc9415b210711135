// Ops that make, reshape, join, slice and rearrange tensors without computing on their elements.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily ArrayFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterDiagonalOps(OpRegistry& ops);
absl::Status RegisterBandOps(OpRegistry& ops);
absl::Status RegisterJoiningOps(OpRegistry& ops);
absl::Status RegisterParallelConcatStepOps(OpRegistry& ops);
absl::Status RegisterMovingOps(OpRegistry& ops);
absl::Status RegisterSpaceBatchOps(OpRegistry& ops);
absl::Status RegisterShapeOps(OpRegistry& ops);
absl::Status RegisterInplaceOps(OpRegistry& ops);
absl::Status RegisterRangeOps(OpRegistry& ops);
absl::Status RegisterValueOps(OpRegistry& ops);
absl::Status RegisterSlicingOps(OpRegistry& ops);
absl::Status RegisterStridedSliceAssignOps(OpRegistry& ops);

absl::Status RegisterArrayNotDifferentiable(OpRegistry& ops);
absl::Status RegisterDiagonalGradients(OpRegistry& ops);
absl::Status RegisterBandGradients(OpRegistry& ops);
absl::Status RegisterJoiningGradients(OpRegistry& ops);
absl::Status RegisterMovingGradients(OpRegistry& ops);
absl::Status RegisterSpaceBatchGradients(OpRegistry& ops);
absl::Status RegisterShapeGradients(OpRegistry& ops);
absl::Status RegisterIdentityGradients(OpRegistry& ops);
absl::Status RegisterSlicingGradients(OpRegistry& ops);

absl::Status RegisterBandKernels(KernelRegistry& kernels);
absl::Status RegisterDiagonalKernels(KernelRegistry& kernels);
absl::Status RegisterGpuDiagonalKernels(KernelRegistry& kernels);
absl::Status RegisterJoinKernels(KernelRegistry& kernels);
absl::Status RegisterGpuConcatKernels(KernelRegistry& kernels);
absl::Status RegisterGpuSplitKernels(KernelRegistry& kernels);
absl::Status RegisterMoveKernels(KernelRegistry& kernels);
absl::Status RegisterPadKernels(KernelRegistry& kernels);
absl::Status RegisterSpaceBatchKernels(KernelRegistry& kernels);
absl::Status RegisterGpuMoveKernels(KernelRegistry& kernels);
absl::Status RegisterGpuPadKernels(KernelRegistry& kernels);
absl::Status RegisterGpuRollKernels(KernelRegistry& kernels);
absl::Status RegisterGpuSpaceBatchKernels(KernelRegistry& kernels);
absl::Status RegisterValueKernels(KernelRegistry& kernels);
absl::Status RegisterInplaceKernels(KernelRegistry& kernels);
absl::Status RegisterRangeKernels(KernelRegistry& kernels);
absl::Status RegisterShapeKernels(KernelRegistry& kernels);
absl::Status RegisterGpuFillKernels(KernelRegistry& kernels);
absl::Status RegisterSliceKernels(KernelRegistry& kernels);
absl::Status RegisterStridedSliceAssignKernels(KernelRegistry& kernels);
absl::Status RegisterGpuSliceKernels(KernelRegistry& kernels);

}  // namespace weir
