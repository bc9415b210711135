// Tensor lists, tensor arrays, stacks and maps.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily ContainersFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterCompositeOps(OpRegistry& ops);
absl::Status RegisterTensorArrayOps(OpRegistry& ops);
absl::Status RegisterTensorListOps(OpRegistry& ops);
absl::Status RegisterLegacySequenceOps(OpRegistry& ops);
absl::Status RegisterTensorMapOps(OpRegistry& ops);

absl::Status RegisterTensorArrayGradients(OpRegistry& ops);
absl::Status RegisterTensorListGradients(OpRegistry& ops);
absl::Status RegisterTensorMapGradients(OpRegistry& ops);
absl::Status RegisterContainersNotDifferentiable(OpRegistry& ops);

absl::Status RegisterCompositeKernels(KernelRegistry& kernels);
absl::Status RegisterStackKernels(KernelRegistry& kernels);
absl::Status RegisterTensorArrayKernels(KernelRegistry& kernels);
absl::Status RegisterTensorListKernels(KernelRegistry& kernels);
absl::Status RegisterTensorListRowKernels(KernelRegistry& kernels);
absl::Status RegisterTensorMapKernels(KernelRegistry& kernels);
absl::Status RegisterVariantArithmeticKernels(KernelRegistry& kernels);

absl::Status RegisterCompositeVariants(VariantRegistry& variants);
absl::Status RegisterTensorListVariants(VariantRegistry& variants);
absl::Status RegisterTensorMapVariants(VariantRegistry& variants);

}  // namespace weir
