// Devices that wrap another one.
#pragma once

#include "core/device/device.h"

namespace weir {

// Implemented by a Device that computes on another one, which outlives it.
class DeviceView {
 public:
  virtual ~DeviceView() = default;
  virtual Device* viewed() const = 0;
};

// The device that `device`, if it is a view, or a view of a view, is based on.
inline Device* BehindViews(Device* device) {
  while (const auto* view = dynamic_cast<const DeviceView*>(device)) device = view->viewed();
  return device;
}
inline const Device* BehindViews(const Device* device) {
  while (const auto* view = dynamic_cast<const DeviceView*>(device)) device = view->viewed();
  return device;
}

}  // namespace weir
