// What GPUOptions say about a task's GPUs, as TensorFlow reads them.
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

// One /device:GPU:n that a task is to offer.
struct GpuDeviceConfig {
  int physical_id = 0;      // among the devices that CUDA shows (after CUDA_VISIBLE_DEVICES)
  size_t memory_limit = 0;  // bytes
  bool allow_growth = false;
  bool unified_memory = false;  // GpuRuntime::AllocateManaged
};

// device_count["GPU"]; no limit when it is not set.
size_t MostGpus(const tensorflow::ConfigProto& config);

// The physical devices in the order of visible_device_list; all of `num_devices` when it is empty. InvalidArgument, in
// TensorFlow's words, for what is no number, out of range, or listed twice.
absl::StatusOr<std::vector<int>> ParseVisibleDevices(absl::string_view list, int num_devices);

// Bytes that stay for the driver and libraries where no limit is asked for.
size_t ReservedGpuMemory(size_t available, int compute_major);

// The memory limit of a device that is not divided: what is free but for a reserve, gpu_system_memory_size_in_mb or
// ReservedGpuMemory, or per_process_gpu_memory_fraction of the whole. That may be above 1: unified memory, which
// use_unified_memory asks for too. InvalidArgument for a fraction below 0; Internal, in TensorFlow's words, for unified
// memory on a device that cannot hold more than its own.
absl::StatusOr<size_t> GpuMemoryLimit(const tensorflow::GPUOptions& options, const GpuProperties& properties,
                                      const GpuMemoryInfo& memory);

struct PhysicalGpu {
  GpuProperties properties;
  GpuMemoryInfo memory;
};
// The devices to make of the machine's: device_count["GPU"] at most, divided as virtual_devices says. Errors are
// TensorFlow's. UNIMPLEMENTED for priorities and ordinals of virtual devices, and for num_virtual_devices_per_gpu.
absl::StatusOr<std::vector<GpuDeviceConfig>> ConfigureGpus(const tensorflow::ConfigProto& config,
                                                           absl::Span<const PhysicalGpu> physical);

// DeviceAttributes.physical_device_desc: "device: 0, name: NVIDIA H100 80GB HBM3, pci bus id: 0000:00:05.0, compute
// capability: 9.0".
std::string PhysicalGpuDescription(int id, const GpuProperties& properties);

}  // namespace weir
