// gpu_info prints one line, in TensorFlow's format, for each GPU that a server on this machine could offer. If there is
// none, it prints the reason and exits with 3.

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
