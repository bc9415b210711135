#include "core/gpu/gpu_devices.h"

#include "tensorflow/core/protobuf/config.pb.h"

namespace weir {
namespace {

bool AsksForNone(const tensorflow::ConfigProto& config) {
  const auto count = config.device_count().find(kDeviceGpu);
  return count != config.device_count().end() && count->second <= 0 &&
         config.gpu_options().experimental().virtual_devices().empty();
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
    made.reason = "device_count asks for none";
    return made;
  }
  const absl::StatusOr<int> count = platform.count();
  if (!count.ok() && !absl::IsUnavailable(count.status())) return count.status();
  if (!count.ok()) made.reason = std::string(count.status().message());
  ASSIGN_OR_RETURN(
      const std::vector<int> visible,
      ParseVisibleDevices(count.value_or(0) > 0 ? config.gpu_options().visible_device_list() : "", count.value_or(0)));
  // A GPU that nobody is to see is not opened: that takes memory of it. Its place stays empty.
  std::vector<OpenGpu> gpus(count.value_or(0));
  std::vector<PhysicalGpu> physical(gpus.size());
  for (const int id : visible) {
    ASSIGN_OR_RETURN(gpus[id], Open(platform, id));
    physical[id] = gpus[id].description;
  }
  ASSIGN_OR_RETURN(const std::vector<GpuDeviceConfig> configs, ConfigureGpus(config, physical));
  for (const GpuDeviceConfig& device : configs) {
    GpuDevice::Options options;
    options.task = task;
    options.id = static_cast<int>(made.devices.size());
    options.config = device;
    ASSIGN_OR_RETURN(made.devices.emplace_back(),
                     GpuDevice::Create(gpus[device.physical_id].runtime, work_queue, std::move(options)));
  }
  return made;
}

}  // namespace weir
