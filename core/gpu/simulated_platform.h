// Simulated GPUs as a task's devices.
#pragma once

#include <memory>
#include <vector>

#include "core/gpu/gpu_devices.h"
#include "core/gpu/simulated_gpu.h"

namespace weir {

// Offers all of `gpus`; the caller may check them for races.
GpuPlatform SimulatedPlatform(std::vector<std::shared_ptr<SimulatedGpu>> gpus);

// Creates `count` GPUs with one thread per stream. The device description says "Simulated GPU", computed by the host,
// so they cannot be mistaken for real ones.
GpuPlatform SimulatedPlatform(int count);

}  // namespace weir
