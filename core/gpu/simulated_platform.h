// Simulated GPUs as a task's.
#pragma once

#include <memory>
#include <vector>

#include "core/gpu/gpu_devices.h"
#include "core/gpu/simulated_gpu.h"

namespace weir {

// As many as `gpus`, which their users may go on asking about races.
GpuPlatform SimulatedPlatform(std::vector<std::shared_ptr<SimulatedGpu>> gpus);

// `count` new ones, with a thread for each stream. Nobody takes them for GPUs: the devices' description says
// "Simulated GPU", computed by the host.
GpuPlatform SimulatedPlatform(int count);

}  // namespace weir
