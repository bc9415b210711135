// NCCL as a GpuCollectiveLibrary.
#pragma once

#include <memory>

#include "distribute/collective/gpu/gpu_collective_library.h"

namespace weir {

// Serves CUDA devices if libnccl.so.2 can be loaded; otherwise Serves returns the reason. Communicators never block:
// they connect, enqueue and fail in the background, and the caller polls IsReady. One GPU has at most one rank of a
// communicator.
std::shared_ptr<GpuCollectiveLibrary> NewNcclLibrary();

}  // namespace weir
