// CPU kernels for values that never leave the host, beside a device with memory of its own.
#pragma once

#include <memory>

#include "core/op_kernel.h"

namespace weir {

// Runs `kernel`, a CPU's, as one of another device: inputs and outputs are host memory, and what it allocates is too.
// It is one that needs none of the device's resources.
std::unique_ptr<OpKernel> NewHostKernel(std::unique_ptr<OpKernel> kernel);

}  // namespace weir
