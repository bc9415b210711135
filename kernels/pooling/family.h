// The pooling family: see README.md beside this file.
#pragma once

#include "kernels/op_family.h"

namespace weir {

OpFamily PoolingFamily();

// Its parts; only family.cc calls them.
absl::Status RegisterFractionalPoolingOps(OpRegistry& ops);
absl::Status RegisterDilationKernels(KernelRegistry& kernels);
absl::Status RegisterFractionalPoolingKernels(KernelRegistry& kernels);
absl::Status RegisterPoolingKernels(KernelRegistry& kernels);
absl::Status RegisterVolumePoolingKernels(KernelRegistry& kernels);
absl::Status RegisterGpuPoolKernels(KernelRegistry& kernels);

}  // namespace weir
