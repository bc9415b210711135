// The CUDA runtime behind core/gpu/gpu_runtime.h.
#pragma once

#include <memory>
#include <optional>

#include "core/gpu/gpu_devices.h"
#include "core/gpu/gpu_runtime.h"

namespace weir {

// How many devices there are; CUDA_VISIBLE_DEVICES counts, as it does for every CUDA program. UNAVAILABLE with the
// reason where there is no driver, no device or none that this build's driver interface understands.
absl::StatusOr<int> CountCudaDevices();

// The device of that ordinal. Its streams do not wait for the legacy default stream.
absl::StatusOr<std::unique_ptr<GpuRuntime>> NewCudaRuntime(int ordinal);

// The ordinal of a device that NewCudaRuntime made; nullopt for others.
std::optional<int> CudaOrdinalOf(const GpuRuntime& runtime);

// All of it, for MakeGpuDevices. How libraries are used the process's environment says, as it does for CUDA itself.
GpuPlatform CudaPlatform();

}  // namespace weir
