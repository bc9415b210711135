// The GPUs of a task, from those of the machine.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/gpu/gpu_device.h"

namespace weir {

// Where GPUs come from: the CUDA runtime, or a test's simulated ones.
struct GpuPlatform {
  // UNAVAILABLE, with the reason, where there is none.
  std::function<absl::StatusOr<int>()> count;
  std::function<absl::StatusOr<std::shared_ptr<GpuRuntime>>(int id)> open;
  // How kernels use libraries there; nullptr: as GpuMathSettings has it.
  std::function<absl::StatusOr<GpuMathSettings>()> math;
};

struct GpuDevices {
  // GPU:0, GPU:1 …
  std::vector<std::unique_ptr<GpuDevice>> devices;
  // Why there is none; empty where there are some.
  std::string reason;
};

// Devices of `task` as `config` asks for them (device_count, gpu_options). No GPU is no error, whatever is asked for;
// what TensorFlow refuses of those that there are is one. Opens each GPU once, also where it is divided, and only when
// devices of it are made or their memory is to be known. `work_queue` outlives the devices.
absl::StatusOr<GpuDevices> MakeGpuDevices(const GpuPlatform& platform, const tensorflow::ConfigProto& config,
                                          const DeviceName& task, WorkQueue* work_queue);

}  // namespace weir
