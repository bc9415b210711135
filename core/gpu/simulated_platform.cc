#include "core/gpu/simulated_platform.h"

#include <utility>

namespace weir {

GpuPlatform SimulatedPlatform(std::vector<std::shared_ptr<SimulatedGpu>> gpus) {
  GpuPlatform platform;
  platform.count = [count = static_cast<int>(gpus.size())] { return count; };
  platform.open = [gpus = std::move(gpus)](int id) -> absl::StatusOr<std::shared_ptr<GpuRuntime>> {
    if (id >= 0 && id < static_cast<int>(gpus.size())) return gpus[id];
    return errors::InvalidArgument("There is no simulated GPU ", id, " of ", gpus.size());
  };
  return platform;
}

GpuPlatform SimulatedPlatform(int count) {
  std::vector<std::shared_ptr<SimulatedGpu>> gpus;
  for (int i = 0; i < count; ++i) {
    gpus.push_back(std::make_shared<SimulatedGpu>(
        SimulatedGpu::Options{.schedule = SimulatedGpu::Schedule::kThreads, .name = "Simulated GPU (no hardware)"}));
  }
  return SimulatedPlatform(std::move(gpus));
}

}  // namespace weir
