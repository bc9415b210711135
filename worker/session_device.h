// A device view for a session with isolated state.
#pragma once

#include <memory>

#include "core/device/device.h"

namespace weir {

// Computes and allocates on `device`, which outlives it, but has its own resources. `task` gives its job, replica and
// task.
std::unique_ptr<Device> NewSessionDevice(Device* device, const DeviceName& task);

}  // namespace weir
