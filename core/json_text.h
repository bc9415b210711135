// Text inside JSON.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace weir {

// Appends `text` as a JSON string with its quotes. Control characters are escaped, and bytes that are not UTF-8 are
// replaced with U+FFFD, so that the result is always valid.
void AppendJsonString(absl::string_view text, std::string* out);

inline std::string JsonString(absl::string_view text) {
  std::string out;
  AppendJsonString(text, &out);
  return out;
}

}  // namespace weir
