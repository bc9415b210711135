// Pad, PadV2, MirrorPad and MirrorPadGrad.
#pragma once

#include "core/kernel_registry.h"
#include "core/status.h"

namespace weir {

absl::Status RegisterPadKernels(KernelRegistry& kernels);

}  // namespace weir
