#include "core/gpu/gpu_config.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace weir {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

using VirtualDevices = tensorflow::GPUOptions::Experimental::VirtualDevices;

absl::Status CheckVirtualDevices(const tensorflow::GPUOptions& options, size_t num_gpus, size_t num_visible) {
  const auto& virtual_devices = options.experimental().virtual_devices();
  if (options.per_process_gpu_memory_fraction() > 0) {
    return errors::InvalidArgument("It's invalid to set per_process_gpu_memory_fraction when virtual_devices is set.");
  }
  if (num_gpus < virtual_devices.size()) {
    return errors::Unknown("Not enough GPUs to create virtual devices. num_gpus_to_use: ", num_gpus,
                           " #virtual_devices: ", virtual_devices.size());
  }
  if (!options.visible_device_list().empty() && num_visible != virtual_devices.size()) {
    return errors::InvalidArgument(
        "The number of GPUs in visible_device_list doesn't match the number of elements in the virtual_devices list. "
        "#GPUs in visible_device_list: ",
        num_visible, " virtual_devices.size(): ", virtual_devices.size());
  }
  if (num_visible != virtual_devices.size()) {
    return errors::Unknown(
        "The number of valid GPUs doesn't match the number of elements in the virtual_devices list. #valid GPUs: ",
        num_visible, " virtual_devices.size(): ", virtual_devices.size());
  }
  const bool have_priorities = virtual_devices[0].priority_size() > 0;
  for (int i = 0; i < virtual_devices.size(); ++i) {
    const VirtualDevices& parts = virtual_devices[i];
    if (!have_priorities && parts.priority_size() > 0) {
      return errors::InvalidArgument(
          "Priority must be set for all virtual devices or none. But the priority is specified for ", i,
          " while previous devices didn't have any set.");
    }
    if (have_priorities && parts.priority_size() != parts.memory_limit_mb_size()) {
      return errors::InvalidArgument(
          "Number of virtual device priorities specified doesn't match with number of "
          "memory_limit_mb specified for GPU# ",
          i, " memory_limit_mb size: ", parts.memory_limit_mb_size(), " and priority size: ", parts.priority_size());
    }
    if (std::any_of(parts.priority().begin(), parts.priority().end(), [](int priority) { return priority != 0; })) {
      return errors::Unimplemented("Priorities of virtual devices on GPU# ", i, " are not supported yet");
    }
    if (parts.device_ordinal_size() > 0) {
      return errors::Unimplemented("device_ordinal of virtual devices on GPU# ", i, " is not supported yet");
    }
  }
  return absl::OkStatus();
}

bool UsesUnifiedMemory(const tensorflow::GPUOptions& options) {
  return options.per_process_gpu_memory_fraction() > 1 || options.experimental().use_unified_memory();
}

// One limit per part of the device, in bytes.
absl::Status Divide(const VirtualDevices& parts, GpuDeviceConfig config, std::vector<GpuDeviceConfig>* configs) {
  const int id = config.physical_id;
  constexpr double kMaxBytes = 1e18;  // more than the device has is allowed: its allocator takes what there is
  for (int i = 0; i < parts.memory_limit_mb_size(); ++i) {
    const double bytes = parts.memory_limit_mb(i) * static_cast<double>(kMiB);
    if (!(bytes >= 1 && bytes <= kMaxBytes)) {
      return errors::InvalidArgument("memory_limit_mb of virtual device ", i, " on GPU# ", id, " is ",
                                     parts.memory_limit_mb(i));
    }
    config.memory_limit = static_cast<size_t>(bytes);
    configs->push_back(config);
  }
  return absl::OkStatus();
}

}  // namespace

size_t MostGpus(const tensorflow::ConfigProto& config) {
  const auto count = config.device_count().find("GPU");
  return count == config.device_count().end() ? SIZE_MAX : static_cast<size_t>(std::max(0, count->second));
}

absl::StatusOr<std::vector<int>> ParseVisibleDevices(absl::string_view list, int num_devices) {
  std::vector<int> order;
  if (list.empty()) {
    order.resize(num_devices);
    std::iota(order.begin(), order.end(), 0);
    return order;
  }
  for (absl::string_view entry : absl::StrSplit(list, ',')) {
    int id = 0;
    if (!absl::SimpleAtoi(entry, &id)) {
      return errors::InvalidArgument("Could not parse entry in 'visible_device_list': '", entry,
                                     "'. visible_device_list = ", list);
    }
    if (id < 0 || id >= num_devices) {
      return errors::InvalidArgument("'visible_device_list' listed an invalid Device id '", id,
                                     "' but visible device count is ", num_devices);
    }
    order.push_back(id);
  }
  if (std::set<int>(order.begin(), order.end()).size() != order.size()) {
    return errors::InvalidArgument("visible_device_list contained a duplicate entry: ", list);
  }
  return order;
}

size_t ReservedGpuMemory(size_t available, int compute_major) {
  if (available < 2048 * kMiB) return 225 * kMiB;
  if (compute_major <= 6) return 500 * kMiB;
  if (compute_major == 7) return 1050 * kMiB;
  return compute_major == 8 ? 1536 * kMiB : 1800 * kMiB;
}

absl::StatusOr<size_t> GpuMemoryLimit(const tensorflow::GPUOptions& options, const GpuProperties& properties,
                                      const GpuMemoryInfo& memory) {
  const double fraction = options.per_process_gpu_memory_fraction();
  if (!(fraction >= 0)) return errors::InvalidArgument("per_process_gpu_memory_fraction is ", fraction);
  if (UsesUnifiedMemory(options) && properties.compute_major < 6) {
    return errors::Internal(
        "Unified memory on GPUs with compute capability lower than 6.0 (pre-Pascal class GPUs) does not support "
        "oversubscription.");
  }
  const int64_t kept_mb = options.experimental().gpu_system_memory_size_in_mb();
  if (kept_mb > 0 && kept_mb * kMiB <= memory.free) return memory.free - kept_mb * kMiB;
  if (fraction > 0) {
    constexpr double kMaxBytes = 1e18;
    const double bytes = fraction * static_cast<double>(memory.total);
    if (bytes <= kMaxBytes) return static_cast<size_t>(bytes);
    return errors::InvalidArgument("per_process_gpu_memory_fraction is ", fraction, ", which is ", bytes, " bytes");
  }
  const size_t reserved = ReservedGpuMemory(memory.free, properties.compute_major);
  return memory.free > reserved ? memory.free - reserved : memory.free;
}

absl::StatusOr<std::vector<GpuDeviceConfig>> ConfigureGpus(const tensorflow::ConfigProto& config,
                                                           absl::Span<const PhysicalGpu> physical) {
  const tensorflow::GPUOptions& options = config.gpu_options();
  const auto& virtual_devices = options.experimental().virtual_devices();
  const size_t count = std::min(MostGpus(config), physical.size());
  std::vector<GpuDeviceConfig> configs;
  if (count == 0 && virtual_devices.empty()) return configs;
  ASSIGN_OR_RETURN(std::vector<int> visible,
                   ParseVisibleDevices(options.visible_device_list(), static_cast<int>(physical.size())));
  const size_t num_gpus = std::min(count, visible.size());
  if (options.experimental().num_virtual_devices_per_gpu() > 1) {
    return errors::Unimplemented("num_virtual_devices_per_gpu is not supported yet; virtual_devices is");
  }
  if (!virtual_devices.empty()) RETURN_IF_ERROR(CheckVirtualDevices(options, num_gpus, visible.size()));
  visible.resize(virtual_devices.empty() ? num_gpus : virtual_devices.size());
  for (size_t i = 0; i < visible.size(); ++i) {
    const PhysicalGpu& gpu = physical[visible[i]];
    GpuDeviceConfig device{.physical_id = visible[i],
                           .allow_growth = options.allow_growth(),
                           .unified_memory = UsesUnifiedMemory(options)};
    if (!virtual_devices.empty() && virtual_devices[static_cast<int>(i)].memory_limit_mb_size() > 0) {
      RETURN_IF_ERROR(Divide(virtual_devices[static_cast<int>(i)], device, &configs));
      continue;
    }
    ASSIGN_OR_RETURN(device.memory_limit, GpuMemoryLimit(options, gpu.properties, gpu.memory));
    configs.push_back(device);
  }
  return configs;
}

std::string PhysicalGpuDescription(int id, const GpuProperties& properties) {
  return absl::StrCat("device: ", id, ", name: ", properties.name, ", pci bus id: ", properties.pci_bus_id,
                      ", compute capability: ", properties.compute_major, ".", properties.compute_minor);
}

}  // namespace weir
