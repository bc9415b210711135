// The devices that kernels run on.
#pragma once

#include <memory>
#include <string>

#include "core/api.h"
#include "core/device/device_name.h"
#include "core/device/resource_manager.h"
#include "core/memory/allocator.h"
#include "core/threads/work_queue.h"

namespace tensorflow {
class DeviceAttributes;
}

namespace WEIR_API weir {

class FileSystemRegistry;

inline constexpr char kDeviceCpu[] = "CPU";
inline constexpr char kDeviceGpu[] = "GPU";

// One device of one task. Thread-safe. Owns its resources (ResourceManager).
class Device {
 public:
  Device(DeviceName name, uint64_t incarnation, int64_t memory_limit);
  virtual ~Device();

  const std::string& name() const { return name_; }
  const DeviceName& parsed_name() const { return parsed_name_; }
  const std::string& type() const { return *parsed_name_.type; }
  // Random and nonzero, new on each start of the task: distinguishes a restarted task from the one that was registered.
  uint64_t incarnation() const { return incarnation_; }
  void ToProto(tensorflow::DeviceAttributes* attributes) const;

  virtual Allocator* allocator() = 0;
  // For arguments in host memory, on any device.
  virtual Allocator* host_allocator() { return CpuAllocator(); }
  virtual WorkQueue* work_queue() = 0;
  ResourceManager* resources() { return &resources_; }
  // File systems that kernels use: FileSystemRegistry::Default() unless set before the first step.
  FileSystemRegistry* file_systems() const { return file_systems_.get(); }
  void set_file_systems(std::shared_ptr<FileSystemRegistry> file_systems) { file_systems_ = std::move(file_systems); }

 private:
  const DeviceName parsed_name_;
  const std::string name_;
  const uint64_t incarnation_;
  const int64_t memory_limit_;
  ResourceManager resources_;
  std::shared_ptr<FileSystemRegistry> file_systems_;
};

// A CPU device that computes on `work_queue`, which outlives it. `task` has job, replica and task set.
std::unique_ptr<Device> NewCpuDevice(const DeviceName& task, int id, WorkQueue* work_queue, int64_t memory_limit = 0);

}  // namespace weir
