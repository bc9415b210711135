#pragma once

#include "core/kernel_registry.h"
#include "core/status.h"

namespace weir {

// Kernels that turn bytes into tensors: examples, CSV, JSON, serialised tensors, vocabularies.
absl::Status RegisterParsingKernels(KernelRegistry& kernels);

}  // namespace weir
