// NCCL's part for simulated GPUs.
#pragma once

#include <memory>

#include "distribute/collective/gpu/gpu_collective_library.h"

namespace weir {

// Serves SimulatedGpu alone. Ranks may be of several processes of a host: all send their inputs to the process that
// made the id, through sockets, and get their outputs from there. As with NCCL, a group runs when the streams of all
// ranks have come to it, and a rank whose process ends is an error of the others'. Unlike NCCL it tells ranks that
// enqueue different operations from each other. Nothing of it is fast.
std::shared_ptr<GpuCollectiveLibrary> NewSimulatedGpuCollectives();

}  // namespace weir
