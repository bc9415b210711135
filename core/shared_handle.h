// Objects that their handles own and that a step keeps under a name for handles that lost their share on the way over
// another device.
#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "core/resource_handle.h"

namespace weir {

// The name such an object is kept under. It holds the type: a handle from outside that claims another type finds
// nothing.
inline std::string SharedName(const ResourceHandle& handle) { return absl::StrCat(handle.name, "#", handle.hash_code); }

}  // namespace weir
