// CPU kernels for values in host memory of devices with their own memory.
#pragma once

#include <memory>

#include "core/kernel/op_kernel.h"

namespace weir {

// Wraps a CPU kernel for use on another device: inputs, outputs and allocations are in host memory. `kernel` must not
// use resources of the device.
std::unique_ptr<OpKernel> NewHostKernel(std::unique_ptr<OpKernel> kernel);

}  // namespace weir
