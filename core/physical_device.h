// Devices that stand for hardware of which clients are told.
#pragma once

#include <string>

namespace weir {

// A Device that is one too has its description in DeviceAttributes.physical_device_desc, and its place in .locality.
class PhysicalDevice {
 public:
  virtual ~PhysicalDevice() = default;
  virtual std::string physical_description() const = 0;
  virtual int numa_node() const = 0;
};

}  // namespace weir
