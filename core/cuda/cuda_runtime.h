// The CUDA implementation of core/gpu/gpu_runtime.h.
#pragma once

#include <memory>
#include <optional>

#include "core/gpu/gpu_devices.h"
#include "core/gpu/gpu_runtime.h"

namespace weir {

// The number of devices, subject to CUDA_VISIBLE_DEVICES like in any CUDA program. UNAVAILABLE with the reason if there
// is no driver, no device, or an incompatible driver.
absl::StatusOr<int> CountCudaDevices();

// The device with that ordinal. Its streams do not wait for the legacy default stream.
absl::StatusOr<std::unique_ptr<GpuRuntime>> NewCudaRuntime(int ordinal);

// The ordinal of a device that NewCudaRuntime made; nullopt for others.
std::optional<int> CudaOrdinalOf(const GpuRuntime& runtime);

// All of the above, for MakeGpuDevices. Math settings are read from the process's environment, like CUDA's own.
GpuPlatform CudaPlatform();

}  // namespace weir
