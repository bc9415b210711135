// What a build without CUDA, or without NCCL's header, has in place of nccl_library.cc.
#include "distribute/collective/gpu/simulated_gpu_collectives.h"
#include "distribute/collective/nccl/gpu_libraries.h"

namespace weir {

std::vector<std::shared_ptr<GpuCollectiveLibrary>> GpuCollectiveLibraries() { return {NewSimulatedGpuCollectives()}; }

}  // namespace weir
