#include "core/wire/block_compression.h"

#include <lz4.h>
#include <snappy.h>

#include <cstdint>
#include <limits>

namespace weir {
namespace {

// An LZ4 match of n bytes takes n / 255 bytes; a Snappy copy expands 3 bytes to 64.
constexpr size_t kMaxExpansion = 255;

}  // namespace

size_t CompressedRoom(WireCompression compression, size_t num_bytes) {
  if (num_bytes > LZ4_MAX_INPUT_SIZE) return 0;
  return compression == WireCompression::kLz4 ? LZ4_compressBound(static_cast<int>(num_bytes))
                                              : snappy::MaxCompressedLength(num_bytes);
}

size_t CompressBlock(WireCompression compression, absl::Span<const char> in, absl::Span<char> out) {
  if (compression == WireCompression::kLz4) {
    return LZ4_compress_default(in.data(), out.data(), static_cast<int>(in.size()), static_cast<int>(out.size()));
  }
  size_t written = 0;
  snappy::RawCompress(in.data(), in.size(), out.data(), &written);
  return written;
}

bool CanExpandTo(WireCompression compression, size_t compressed_bytes, size_t num_bytes) {
  return compression != WireCompression::kNone && num_bytes <= LZ4_MAX_INPUT_SIZE &&
         num_bytes / kMaxExpansion <= compressed_bytes;
}

absl::Status ExpandBlock(WireCompression compression, absl::Span<const char> in, absl::Span<char> out) {
  bool is_good = in.size() <= std::numeric_limits<int>::max() && out.size() <= LZ4_MAX_INPUT_SIZE;
  if (is_good && compression == WireCompression::kLz4) {
    is_good = LZ4_decompress_safe(in.data(), out.data(), static_cast<int>(in.size()), static_cast<int>(out.size())) ==
              static_cast<int64_t>(out.size());
  } else if (is_good) {
    size_t length = 0;
    is_good = snappy::GetUncompressedLength(in.data(), in.size(), &length) && length == out.size() &&
              snappy::RawUncompress(in.data(), in.size(), out.data());
  }
  if (is_good) return absl::OkStatus();
  return errors::DataLoss("A compressed block of ", in.size(), " bytes does not expand to the expected ", out.size(),
                          " bytes");
}

}  // namespace weir
