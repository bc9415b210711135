#include "core/device/device.h"

#include "absl/strings/str_cat.h"
#include "core/device/incarnation.h"
#include "core/device/physical_device.h"
#include "core/files/file_system.h"
#include "tensorflow/core/framework/device_attributes.pb.h"

namespace weir {
namespace {

DeviceName CpuName(DeviceName task, int id) {
  task.type = kDeviceCpu;
  task.id = id;
  return task;
}

class CpuDevice : public Device {
 public:
  CpuDevice(DeviceName name, WorkQueue* work_queue, int64_t memory_limit)
      : Device(std::move(name), NewIncarnation(), memory_limit), work_queue_(work_queue) {}
  // Clears resources while the work queue still exists: iterators use it when they are destroyed.
  ~CpuDevice() override { resources()->Clear(); }

  Allocator* allocator() override { return CpuAllocator(); }
  WorkQueue* work_queue() override { return work_queue_; }
  int num_threads() const { return work_queue_->num_threads(); }

 private:
  WorkQueue* const work_queue_;
};

}  // namespace

Device::Device(DeviceName name, uint64_t incarnation, int64_t memory_limit)
    : parsed_name_(std::move(name)),
      name_(parsed_name_.ToString()),
      incarnation_(incarnation),
      memory_limit_(memory_limit),
      resources_(name_),
      file_systems_(FileSystemRegistry::Default()) {}

Device::~Device() = default;

void Device::ToProto(tensorflow::DeviceAttributes* attributes) const {
  attributes->set_name(name_);
  attributes->set_device_type(type());
  attributes->set_memory_limit(memory_limit_);
  attributes->set_incarnation(incarnation_);
  tensorflow::DeviceLocality* const locality = attributes->mutable_locality();
  if (const auto* physical = dynamic_cast<const PhysicalDevice*>(this); physical != nullptr) {
    attributes->set_physical_device_desc(physical->physical_description());
    // TensorFlow's bus_id is the NUMA node, counted from 1; 0 means unknown.
    locality->set_numa_node(physical->numa_node());
    locality->set_bus_id(physical->numa_node() + 1);
    locality->mutable_links();
  } else if (const auto* cpu = dynamic_cast<const CpuDevice*>(this); cpu != nullptr) {
    attributes->set_physical_device_desc(absl::StrCat("threads: ", cpu->num_threads()));
  }
}

std::unique_ptr<Device> NewCpuDevice(const DeviceName& task, int id, WorkQueue* work_queue, int64_t memory_limit) {
  return std::make_unique<CpuDevice>(CpuName(task, id), work_queue, memory_limit);
}

}  // namespace weir
