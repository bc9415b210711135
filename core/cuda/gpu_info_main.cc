// gpu_info: one line for each GPU that a server of this machine could offer, as TensorFlow describes them. Ends with 3,
// and the reason, where there is none.

#include <cstdio>

#include "core/cuda/cuda_runtime.h"
#include "core/gpu/gpu_config.h"

int main() {
  const absl::StatusOr<int> count = weir::CountCudaDevices();
  if (!count.ok()) {
    std::printf("no GPU: %s\n", std::string(count.status().message()).c_str());
    return 3;
  }
  for (int id = 0; id < *count; ++id) {
    auto runtime = weir::NewCudaRuntime(id);
    if (!runtime.ok()) {
      std::printf("device: %d, unusable: %s\n", id, std::string(runtime.status().message()).c_str());
      return 1;
    }
    const absl::StatusOr<weir::GpuMemoryInfo> memory = (*runtime)->MemoryInfo();
    std::printf("%s, memory: %zu of %zu MB free\n", weir::PhysicalGpuDescription(id, (*runtime)->properties()).c_str(),
                memory.ok() ? memory->free >> 20 : 0, memory.ok() ? memory->total >> 20 : 0);
  }
  return 0;
}
