// Replaces nccl_library.cc in builds without CUDA or NCCL's header.
#include "distribute/collective/gpu/simulated_gpu_collectives.h"
#include "distribute/collective/nccl/gpu_libraries.h"

namespace weir {

std::vector<std::shared_ptr<GpuCollectiveLibrary>> GpuCollectiveLibraries() { return {NewSimulatedGpuCollectives()}; }

}  // namespace weir
