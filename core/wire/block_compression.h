// LZ4 and Snappy block compression.
#pragma once

#include <cstddef>

#include "absl/types/span.h"
#include "core/status.h"
#include "core/wire/wire_options.h"

namespace weir {

// The output size that CompressBlock needs for `num_bytes`; 0 if a block cannot be that large.
size_t CompressedRoom(WireCompression compression, size_t num_bytes);
// Compresses into `out`, which has CompressedRoom bytes, and returns the number of bytes written. `compression` is not
// kNone.
size_t CompressBlock(WireCompression compression, absl::Span<const char> in, absl::Span<char> out);

// Whether `num_bytes` can compress to `compressed_bytes` in this format: prevents allocating for a block with a false
// size.
bool CanExpandTo(WireCompression compression, size_t compressed_bytes, size_t num_bytes);
// DataLoss unless `in` is a block of exactly out.size() bytes. Never writes beyond `out`.
absl::Status ExpandBlock(WireCompression compression, absl::Span<const char> in, absl::Span<char> out);

}  // namespace weir
