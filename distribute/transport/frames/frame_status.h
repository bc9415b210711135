// An error in a frame, with its payloads.
#pragma once

#include <string>

#include "absl/types/span.h"
#include "core/status.h"

namespace weir {

// Long messages and payloads are cut, as in gRPC's trailers.
std::string EncodeFrameStatus(const absl::Status& status);
// Never OK; INTERNAL for bytes that EncodeFrameStatus did not write. Reads each byte once.
absl::Status DecodeFrameStatus(absl::Span<const char> bytes);

}  // namespace weir
