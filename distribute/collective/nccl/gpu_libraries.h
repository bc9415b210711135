// The GPU collective libraries of this machine.
#pragma once

#include <memory>
#include <vector>

#include "distribute/collective/gpu/gpu_collective_library.h"

namespace weir {

// For TaskCollectives: the one for simulated GPUs, and NCCL in builds with CUDA and NCCL's header.
std::vector<std::shared_ptr<GpuCollectiveLibrary>> GpuCollectiveLibraries();

}  // namespace weir
