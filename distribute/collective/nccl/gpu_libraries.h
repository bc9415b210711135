// By which GPUs exchange tensors on this machine.
#pragma once

#include <memory>
#include <vector>

#include "distribute/collective/gpu/gpu_collective_library.h"

namespace weir {

// For TaskCollectives: that of simulated GPUs, and NCCL in a build with CUDA and NCCL's header.
std::vector<std::shared_ptr<GpuCollectiveLibrary>> GpuCollectiveLibraries();

}  // namespace weir
