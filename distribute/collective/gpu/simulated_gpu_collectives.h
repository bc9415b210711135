// Stands in for NCCL on simulated GPUs.
#pragma once

#include <memory>

#include "distribute/collective/gpu/gpu_collective_library.h"

namespace weir {

// Serves only SimulatedGpu; not fast. Ranks may be in several processes of a host: all send their inputs through
// sockets to the process that created the id, and get their outputs from it. As with NCCL, a group runs once the
// streams of all ranks have reached it, and the end of a rank's process is an error for the others. Unlike NCCL, it
// detects ranks that enqueue different operations.
std::shared_ptr<GpuCollectiveLibrary> NewSimulatedGpuCollectives();

}  // namespace weir
