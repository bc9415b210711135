// Casts and compression of elements between tasks, applied per message.
#pragma once

#include <cstdint>

#include "absl/types/span.h"
#include "core/memory/allocator.h"
#include "core/status.h"
#include "core/tensor/tensor.h"
#include "core/tensor/types.h"
#include "core/wire/wire_options.h"

namespace weir {

// Immutable. Casts floats to 16 bits; compresses messages above a minimum size if that makes them smaller.
class WireCodec {
 public:
  // out[i] = a[i] combined with b[i]; `out` may be `a`.
  using CombineFunction = void (*)(void* out, const void* a, const void* b, int64_t count);

  // Messages hold elements unchanged.
  WireCodec() = default;
  // `dtype` is plain.
  WireCodec(const WireOptions& options, DataType dtype);

  bool casts() const { return cast_ != WireCast::kNone; }
  bool changes() const { return casts() || compression_ != WireCompression::kNone; }
  // The size of a message of `count` elements before compression.
  int64_t CastBytes(int64_t count) const { return count * cast_bytes_; }
  // Whether messages of so many elements may be compressed; the same on both sides.
  bool MayCompress(int64_t count) const;

  struct Packed {
    Tensor bytes;  // the caller's reserved bytes, then the message
    absl::Span<const char> message;
  };
  absl::StatusOr<Packed> Pack(const char* elements, int64_t count, int64_t own_bytes, Allocator* allocator) const;

  // DataLoss unless a message of `count` elements can have this size.
  absl::Status CheckSize(int64_t message_bytes, int64_t count) const;
  // Both return DataLoss unless `message` holds exactly `count` elements.
  absl::Status Unpack(absl::Span<const char> message, int64_t count, char* elements) const;
  // out = `from` combined with the message's elements. With `round_from`, `from` is rounded as if it had been sent, so
  // that ranks that exchange their values get the same result.
  absl::Status UnpackCombine(absl::Span<const char> message, int64_t count, CombineFunction combine, const char* from,
                             bool round_from, char* out) const;
  // Rounds elements to the precision of a message.
  void Round(char* elements, int64_t count) const;

 private:
  void Narrow(const char* elements, int64_t count, char* out) const;
  void Widen(const char* in, int64_t count, char* elements) const;
  // The message before compression, decompressed into `*buffer` if needed.
  absl::StatusOr<absl::Span<const char>> Expanded(absl::Span<const char> message, int64_t count, Tensor* buffer) const;

  WireCast cast_ = WireCast::kNone;
  WireCompression compression_ = WireCompression::kNone;
  int64_t element_bytes_ = 1, cast_bytes_ = 1;
};

}  // namespace weir
