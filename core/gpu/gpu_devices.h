// Creates a task's GPU devices from the machine's GPUs.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/gpu/gpu_device.h"

namespace weir {

// A source of GPUs: the CUDA runtime, or simulated ones.
struct GpuPlatform {
  // UNAVAILABLE, with the reason, if there is none.
  std::function<absl::StatusOr<int>()> count;
  std::function<absl::StatusOr<std::shared_ptr<GpuRuntime>>(int id)> open;
  // How kernels use math libraries; nullptr: GpuMathSettings' defaults.
  std::function<absl::StatusOr<GpuMathSettings>()> math;
};

struct GpuDevices {
  // GPU:0, GPU:1 …
  std::vector<std::unique_ptr<GpuDevice>> devices;
  // Why there are no devices; empty if there are some.
  std::string reason;
};

// Devices of `task` as configured by device_count and gpu_options. Having no GPU is never an error; settings that
// TensorFlow rejects for existing GPUs are. Opens each GPU once, even if it is divided, and only if devices are created
// on it or its memory size is needed. `work_queue` outlives the devices.
absl::StatusOr<GpuDevices> MakeGpuDevices(const GpuPlatform& platform, const tensorflow::ConfigProto& config,
                                          const DeviceName& task, WorkQueue* work_queue);

}  // namespace weir
