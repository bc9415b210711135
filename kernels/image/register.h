#pragma once

#include "core/kernel_registry.h"
#include "core/status.h"

namespace weir {

// Kernels that read and write image files, cut images to pieces, move them about, and find and draw boxes in them.
absl::Status RegisterImageKernels(KernelRegistry& kernels);

}  // namespace weir
