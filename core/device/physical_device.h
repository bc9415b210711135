// Devices that represent hardware that clients can list.
#pragma once

#include <string>

namespace weir {

// Implemented by a Device with a DeviceAttributes.physical_device_desc and a .locality.
class PhysicalDevice {
 public:
  virtual ~PhysicalDevice() = default;
  virtual std::string physical_description() const = 0;
  virtual int numa_node() const = 0;
};

}  // namespace weir
