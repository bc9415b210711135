// Validates a strategy's devices.
#pragma once

#include <string>
#include <vector>

#include "core/status.h"

namespace weir {

// InvalidArgument, naming `strategy` and the device, if the list is empty, or a device is malformed or a duplicate.
absl::Status CheckDevices(absl::string_view strategy, const std::vector<std::string>& devices);

// InvalidArgument if the devices belong to different tasks.
absl::Status CheckOneTask(absl::string_view strategy, const std::vector<std::string>& devices);

}  // namespace weir
