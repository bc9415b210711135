// Devices that stand for another one.
#pragma once

#include "core/device.h"

namespace weir {

// A Device that is one too computes on another, which outlives it.
class DeviceView {
 public:
  virtual ~DeviceView() = default;
  virtual Device* viewed() const = 0;
};

// The device behind all views of it.
inline Device* BehindViews(Device* device) {
  while (const auto* view = dynamic_cast<const DeviceView*>(device)) device = view->viewed();
  return device;
}
inline const Device* BehindViews(const Device* device) {
  while (const auto* view = dynamic_cast<const DeviceView*>(device)) device = view->viewed();
  return device;
}

}  // namespace weir
