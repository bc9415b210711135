// Snappy decompression.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "core/status.h"

namespace weir {

// InvalidArgument if the data is malformed or claims to be larger than `max_size`; never allocates more than that.
absl::StatusOr<std::string> SnappyUncompress(absl::string_view compressed, size_t max_size);

}  // namespace weir
