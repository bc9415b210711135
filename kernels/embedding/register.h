#pragma once

#include "core/kernel_registry.h"
#include "core/status.h"

namespace weir {

// Embedding tables, and what divides keys among several.
absl::Status RegisterEmbeddingKernels(KernelRegistry& kernels);

}  // namespace weir
