// The families of kernels that RegisterImageKernels registers.
#pragma once

#include "core/kernel_registry.h"
#include "core/status.h"

namespace weir {

absl::Status RegisterImageDecodeKernels(KernelRegistry& kernels);
absl::Status RegisterImageEncodeKernels(KernelRegistry& kernels);
absl::Status RegisterPatchKernels(KernelRegistry& kernels);
absl::Status RegisterGlimpseKernels(KernelRegistry& kernels);
absl::Status RegisterScaleKernels(KernelRegistry& kernels);
absl::Status RegisterProjectionKernels(KernelRegistry& kernels);
absl::Status RegisterBoundingBoxKernels(KernelRegistry& kernels);
absl::Status RegisterDistortedBoxKernels(KernelRegistry& kernels);
absl::Status RegisterSuppressionKernels(KernelRegistry& kernels);

}  // namespace weir
