// URLs as text.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "core/status.h"

namespace weir {

// For messages: without user, password and the values of the query.
std::string RedactedUrl(absl::string_view url);
// Percent-encoded except for letters, digits and "-._~", and for "/" if it is kept.
std::string PercentEncoded(absl::string_view text, bool keep_slashes);
// The reverse; a "%" without two digits stays. "+" is a space in forms and in listings of object stores.
std::string PercentDecoded(absl::string_view text, bool plus_is_space);
// OK unless the text contains control characters or is too long.
absl::Status CheckRemotePath(absl::string_view path);

}  // namespace weir
