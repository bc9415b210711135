// Checks of the devices that a strategy is given.
#pragma once

#include <string>
#include <vector>

#include "core/status.h"

namespace weir {

// InvalidArgument, naming `strategy` and the device, where there is none, one is malformed, or two are the same.
absl::Status CheckDevices(absl::string_view strategy, const std::vector<std::string>& devices);

// InvalidArgument where two devices belong to different tasks.
absl::Status CheckOneTask(absl::string_view strategy, const std::vector<std::string>& devices);

}  // namespace weir
