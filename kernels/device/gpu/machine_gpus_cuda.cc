#include "core/cuda/cuda_runtime.h"
#include "kernels/device/gpu/machine_gpus.h"

namespace weir {

GpuPlatform MachineGpus() { return CudaPlatform(); }

}  // namespace weir
