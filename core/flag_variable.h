// Environment variables that switch something on or off.
#pragma once

#include "absl/strings/string_view.h"
#include "core/status.h"

namespace weir {

// The value of the environment variable `name`. InvalidArgument, quoting it, for anything but 0, 1, false and true, in
// upper or lower case.
absl::StatusOr<bool> ParseFlagVariable(absl::string_view name, absl::string_view value);

}  // namespace weir
