#include "core/flag_variable.h"

#include <string>

#include "absl/strings/ascii.h"

namespace weir {

absl::StatusOr<bool> ParseFlagVariable(absl::string_view name, absl::string_view value) {
  const std::string lower = absl::AsciiStrToLower(value);
  if (lower == "1" || lower == "true") return true;
  if (lower == "0" || lower == "false") return false;
  return errors::InvalidArgument("Environment variable ", name, " is '", value, "'; expected 0, 1, false or true");
}

}  // namespace weir
