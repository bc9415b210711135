// A task's GPU configuration from GPUOptions, interpreted like TensorFlow.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/gpu/gpu_runtime.h"
#include "core/status.h"

namespace tensorflow {
class ConfigProto;
class GPUOptions;
}  // namespace tensorflow

namespace weir {

// One /device:GPU:n of a task.
struct GpuDeviceConfig {
  int physical_id = 0;      // index among the devices that CUDA lists (after CUDA_VISIBLE_DEVICES)
  size_t memory_limit = 0;  // bytes
  bool allow_growth = false;
  bool unified_memory = false;  // GpuRuntime::AllocateManaged
};

// device_count["GPU"]; no limit if it is not set.
size_t MostGpus(const tensorflow::ConfigProto& config);

// The physical devices in the order of visible_device_list; all of `num_devices` if it is empty. InvalidArgument, in
// TensorFlow's words, for entries that are not numbers, out of range, or duplicates.
absl::StatusOr<std::vector<int>> ParseVisibleDevices(absl::string_view list, int num_devices);

// Bytes reserved for the driver and libraries when no limit is set.
size_t ReservedGpuMemory(size_t available, int compute_major);

// The memory limit of an undivided device. InvalidArgument for a fraction below 0; Internal, in TensorFlow's words, for
// unified memory on a device that does not support oversubscription. The limit is either
// - free memory less a reserve: gpu_system_memory_size_in_mb or ReservedGpuMemory; or
// - per_process_gpu_memory_fraction of the whole. A fraction above 1 requires unified memory, as does
//   use_unified_memory.
absl::StatusOr<size_t> GpuMemoryLimit(const tensorflow::GPUOptions& options, const GpuProperties& properties,
                                      const GpuMemoryInfo& memory);

struct PhysicalGpu {
  GpuProperties properties;
  GpuMemoryInfo memory;
};
// The devices to create: at most device_count["GPU"] of the machine's GPUs, divided as virtual_devices says. Errors are
// TensorFlow's. UNIMPLEMENTED for priorities and ordinals of virtual devices, and for num_virtual_devices_per_gpu.
absl::StatusOr<std::vector<GpuDeviceConfig>> ConfigureGpus(const tensorflow::ConfigProto& config,
                                                           absl::Span<const PhysicalGpu> physical);

// DeviceAttributes.physical_device_desc: "device: 0, name: NVIDIA H100 80GB HBM3, pci bus id: 0000:00:05.0, compute
// capability: 9.0".
std::string PhysicalGpuDescription(int id, const GpuProperties& properties);

}  // namespace weir
