#include "worker/session_device.h"

#include "core/device/device_view.h"

namespace weir {
namespace {

class SessionDevice : public Device, public DeviceView {
 public:
  explicit SessionDevice(Device* device) : Device(device->parsed_name(), device->incarnation(), 0), device_(device) {
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

std::unique_ptr<Device> NewSessionDevice(Device* device) { return std::make_unique<SessionDevice>(device); }

}  // namespace weir
