// Devices in the graph's text form.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace weir::graph_text {

// "worker:3/CPU:0" for "/job:worker/replica:0/task:3/device:CPU:0"; other names in quotes.
std::string PrintDevice(const std::string& device);
// The full name; nullopt if `text` does not have that form.
std::optional<std::string> ExpandDevice(absl::string_view text);

}  // namespace weir::graph_text
