#include "worker/session_device.h"

#include <utility>

#include "core/device/device_view.h"

namespace weir {
namespace {

class SessionDevice : public Device, public DeviceView {
 public:
  SessionDevice(Device* device, DeviceName name) : Device(std::move(name), device->incarnation(), 0), device_(device) {
    // Not owned: `device` keeps them.
    set_file_systems(std::shared_ptr<FileSystemRegistry>(std::shared_ptr<void>(), device->file_systems()));
  }
  // Clears resources while the work queue still exists: iterators use it when they end.
  ~SessionDevice() override { resources()->Clear(); }

  Device* viewed() const override { return device_; }
  Allocator* allocator() override { return device_->allocator(); }
  Allocator* host_allocator() override { return device_->host_allocator(); }
  WorkQueue* work_queue() override { return device_->work_queue(); }

 private:
  Device* const device_;
};

}  // namespace

std::unique_ptr<Device> NewSessionDevice(Device* device, const DeviceName& task) {
  DeviceName name = device->parsed_name();
  name.job = task.job;
  name.replica = task.replica;
  name.task = task.task;
  return std::make_unique<SessionDevice>(device, std::move(name));
}

}  // namespace weir
