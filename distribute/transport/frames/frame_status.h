// A status in a frame, with its payloads.
#pragma once

#include <string>

#include "absl/types/span.h"
#include "core/status.h"

namespace weir {

// Cuts long messages and payloads, as gRPC's trailers do.
std::string EncodeFrameStatus(const absl::Status& status);
// Never returns OK; INTERNAL for bytes that EncodeFrameStatus did not write. Reads each byte once.
absl::Status DecodeFrameStatus(absl::Span<const char> bytes);

}  // namespace weir
