// Blocks of bytes in the formats of LZ4 and Snappy.
#pragma once

#include <cstddef>

#include "absl/types/span.h"
#include "core/status.h"
#include "core/wire/wire_options.h"

namespace weir {

// Room that CompressBlock needs for `num_bytes`; 0 where a block cannot be so large.
size_t CompressedRoom(WireCompression compression, size_t num_bytes);
// Into `out`, which has CompressedRoom; gives the number of bytes written. `compression` is not kNone.
size_t CompressBlock(WireCompression compression, absl::Span<const char> in, absl::Span<char> out);

// Whether `compressed_bytes` of the format can be what `num_bytes` became: so that nothing is allocated on the word of
// a block that lies.
bool CanExpandTo(WireCompression compression, size_t compressed_bytes, size_t num_bytes);
// DataLoss unless `in` is a block of exactly out.size() bytes. Writes nothing beyond `out`.
absl::Status ExpandBlock(WireCompression compression, absl::Span<const char> in, absl::Span<char> out);

}  // namespace weir
