#include "core/gpu/gpu_devices.h"

#include <algorithm>

#include "tensorflow/core/protobuf/config.pb.h"

namespace weir {
namespace {

bool AsksForNone(const tensorflow::ConfigProto& config) {
  return MostGpus(config) == 0 && config.gpu_options().experimental().virtual_devices().empty();
}

struct OpenGpu {
  std::shared_ptr<GpuRuntime> runtime;
  PhysicalGpu description;
};

absl::StatusOr<OpenGpu> Open(const GpuPlatform& platform, int id) {
  OpenGpu gpu;
  ASSIGN_OR_RETURN(gpu.runtime, platform.open(id));
  gpu.description.properties = gpu.runtime->properties();
  ASSIGN_OR_RETURN(gpu.description.memory, gpu.runtime->MemoryInfo());
  return gpu;
}

}  // namespace

absl::StatusOr<GpuDevices> MakeGpuDevices(const GpuPlatform& platform, const tensorflow::ConfigProto& config,
                                          const DeviceName& task, WorkQueue* work_queue) {
  GpuDevices made;
  if (AsksForNone(config)) {
    made.reason = "device_count is 0";
    return made;
  }
  const absl::StatusOr<int> count = platform.count();
  if (!count.ok() && !absl::IsUnavailable(count.status())) return count.status();
  if (!count.ok() || *count == 0) {
    made.reason = count.ok() ? "there is none" : std::string(count.status().message());
    return made;
  }
  ASSIGN_OR_RETURN(const std::vector<int> visible,
                   ParseVisibleDevices(config.gpu_options().visible_device_list(), *count));
  // A GPU that is not visible, or beyond the limit, is not opened, because that would use its memory. Its entry stays
  // empty.
  std::vector<OpenGpu> gpus(*count);
  std::vector<PhysicalGpu> physical(gpus.size());
  for (size_t i = 0; i < std::min(visible.size(), MostGpus(config)); ++i) {
    const int id = visible[i];
    ASSIGN_OR_RETURN(gpus[id], Open(platform, id));
    physical[id] = gpus[id].description;
  }
  ASSIGN_OR_RETURN(const std::vector<GpuDeviceConfig> configs, ConfigureGpus(config, physical));
  GpuMathSettings math;
  if (platform.math != nullptr) {
    ASSIGN_OR_RETURN(math, platform.math());
  }
  for (const GpuDeviceConfig& device : configs) {
    GpuDevice::Options options;
    options.task = task;
    options.id = static_cast<int>(made.devices.size());
    options.config = device;
    options.math = math;
    ASSIGN_OR_RETURN(made.devices.emplace_back(),
                     GpuDevice::Create(gpus[device.physical_id].runtime, work_queue, std::move(options)));
  }
  std::vector<GpuDevice*> all;
  for (const auto& device : made.devices) all.push_back(device.get());
  for (const auto& device : made.devices) device->SetPeers(all);
  return made;
}

}  // namespace weir
