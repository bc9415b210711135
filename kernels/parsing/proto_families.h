// Kernels for messages whose types are named by attributes.
#pragma once

#include "core/kernel_registry.h"
#include "core/status.h"

namespace weir {

absl::Status RegisterDecodeProtoKernels(KernelRegistry& kernels);
absl::Status RegisterEncodeProtoKernels(KernelRegistry& kernels);

}  // namespace weir
