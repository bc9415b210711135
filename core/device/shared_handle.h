// Objects owned by their handles, which a step also keeps under a name for handles that lost their share on the way
// over another device.
#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "core/tensor/resource_handle.h"

namespace weir {

// The name such an object is kept under. It includes the type, so a handle from outside that claims another type finds
// nothing.
inline std::string SharedName(const ResourceHandle& handle) { return absl::StrCat(handle.name, "#", handle.hash_code); }

}  // namespace weir
