// The GPUs of this machine.
#pragma once

#include "core/gpu/gpu_devices.h"

namespace weir {

// Through the CUDA runtime. In a build without the toolkit there is none, and the reason says so.
GpuPlatform MachineGpus();

}  // namespace weir
