// Ops that compute each element of the output from the elements at its place, with broadcasting.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily ElementwiseFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterBinaryOps(OpRegistry& ops);
absl::Status RegisterSelectOps(OpRegistry& ops);
absl::Status RegisterUnaryOps(OpRegistry& ops);
absl::Status RegisterCastOps(OpRegistry& ops);
absl::Status RegisterStochasticCastOps(OpRegistry& ops);
absl::Status RegisterSpecialOps(OpRegistry& ops);

absl::Status RegisterBinaryGradients(OpRegistry& ops);
absl::Status RegisterSelectGradients(OpRegistry& ops);
absl::Status RegisterUnaryGradients(OpRegistry& ops);
absl::Status RegisterElementwiseNotDifferentiable(OpRegistry& ops);
absl::Status RegisterCastGradients(OpRegistry& ops);
absl::Status RegisterSpecialGradients(OpRegistry& ops);

absl::Status RegisterAddNKernels(KernelRegistry& kernels);
absl::Status RegisterApproximateEqualKernels(KernelRegistry& kernels);
absl::Status RegisterArithmeticKernels(KernelRegistry& kernels);
absl::Status RegisterBitwiseKernels(KernelRegistry& kernels);
absl::Status RegisterComparisonKernels(KernelRegistry& kernels);
absl::Status RegisterComplexFunctionKernels(KernelRegistry& kernels);
absl::Status RegisterDivisionKernels(KernelRegistry& kernels);
absl::Status RegisterRealFunctionKernels(KernelRegistry& kernels);
absl::Status RegisterSelectKernels(KernelRegistry& kernels);
absl::Status RegisterComplexUnaryKernels(KernelRegistry& kernels);
absl::Status RegisterUnaryKernels(KernelRegistry& kernels);
absl::Status RegisterRealUnaryKernels(KernelRegistry& kernels);
absl::Status RegisterGpuBroadcastKernels(KernelRegistry& kernels);
absl::Status RegisterGpuClipKernels(KernelRegistry& kernels);
absl::Status RegisterGpuElementwiseKernels(KernelRegistry& kernels);
absl::Status RegisterGpuSelectKernels(KernelRegistry& kernels);
absl::Status RegisterBitcastKernels(KernelRegistry& kernels);
absl::Status RegisterCastKernels(KernelRegistry& kernels);
absl::Status RegisterStochasticCastKernels(KernelRegistry& kernels);
absl::Status RegisterGpuCastKernels(KernelRegistry& kernels);
absl::Status RegisterSpecialKernels(KernelRegistry& kernels);
absl::Status RegisterGpuSpecialKernels(KernelRegistry& kernels);

}  // namespace weir
