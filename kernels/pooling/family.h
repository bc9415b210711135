// Maximum and average pooling, fractional pooling and grey-scale dilation, with their gradients.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily PoolingFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterFractionalPoolingOps(OpRegistry& ops);
absl::Status RegisterPoolingOps(OpRegistry& ops);
absl::Status RegisterVolumePoolingOps(OpRegistry& ops);
absl::Status RegisterDilationOps(OpRegistry& ops);

absl::Status RegisterPoolingGradients(OpRegistry& ops);

absl::Status RegisterDilationKernels(KernelRegistry& kernels);
absl::Status RegisterFractionalPoolingKernels(KernelRegistry& kernels);
absl::Status RegisterPoolingKernels(KernelRegistry& kernels);
absl::Status RegisterVolumePoolingKernels(KernelRegistry& kernels);
absl::Status RegisterGpuPoolKernels(KernelRegistry& kernels);
absl::Status RegisterGpuVolumePoolingKernels(KernelRegistry& kernels);

}  // namespace weir
