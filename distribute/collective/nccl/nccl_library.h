// NCCL as a GpuCollectiveLibrary.
#pragma once

#include <memory>

#include "distribute/collective/gpu/gpu_collective_library.h"

namespace weir {

// Serves CUDA's devices where libnccl.so.2 can be loaded; Serves says why not elsewhere. Communicators do not block:
// they come together, take groups in and fail beside the caller, who asks IsReady. One GPU has one rank of a
// communicator.
std::shared_ptr<GpuCollectiveLibrary> NewNcclLibrary();

}  // namespace weir
