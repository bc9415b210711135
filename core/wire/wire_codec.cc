#include "core/wire/wire_codec.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/tensor/float16.h"
#include "core/tensor/numeric_types.h"
#include "core/wire/block_compression.h"

namespace weir {
namespace {

// Smaller messages are not compressed.
constexpr int64_t kMinCompressedBytes = 4 << 10;
// Elements converted at a time, so that they stay in the cache.
constexpr int64_t kBlock = 1024;

absl::StatusOr<Tensor> Bytes(Allocator* allocator, int64_t num_bytes) {
  return Tensor::Allocate(allocator, DT_UINT8, TensorShape({num_bytes}));
}

// A message may start at any address: elements are converted in aligned buffers.
template <typename T>
void NarrowBlocks(const float* in, int64_t count, char* out) {
  alignas(64) char block[kBlock * sizeof(T)];
  for (int64_t i = 0; i < count; i += kBlock) {
    const int64_t n = std::min(kBlock, count - i);
    FromFloats(in + i, reinterpret_cast<T*>(block), n);
    std::memcpy(out + i * sizeof(T), block, n * sizeof(T));
  }
}
template <typename T>
void WidenBlocks(const char* in, int64_t count, float* out) {
  alignas(64) char block[kBlock * sizeof(T)];
  for (int64_t i = 0; i < count; i += kBlock) {
    const int64_t n = std::min(kBlock, count - i);
    std::memcpy(block, in + i * sizeof(T), n * sizeof(T));
    ToFloats(reinterpret_cast<const T*>(block), out + i, n);
  }
}

}  // namespace

WireCodec::WireCodec(const WireOptions& options, DataType dtype)
    : cast_(dtype == DT_FLOAT ? options.cast : WireCast::kNone),
      compression_(options.compression),
      element_bytes_(static_cast<int64_t>(DataTypeSize(dtype))),
      cast_bytes_(casts() ? static_cast<int64_t>(sizeof(half)) : element_bytes_) {}

bool WireCodec::MayCompress(int64_t count) const {
  return compression_ != WireCompression::kNone && CastBytes(count) >= kMinCompressedBytes &&
         CompressedRoom(compression_, CastBytes(count)) > 0;
}

void WireCodec::Narrow(const char* elements, int64_t count, char* out) const {
  const auto* floats = reinterpret_cast<const float*>(elements);
  if (cast_ == WireCast::kHalf) return NarrowBlocks<half>(floats, count, out);
  if (cast_ == WireCast::kBfloat16) return NarrowBlocks<bfloat16>(floats, count, out);
  std::memcpy(out, elements, count * element_bytes_);
}

void WireCodec::Widen(const char* in, int64_t count, char* elements) const {
  auto* floats = reinterpret_cast<float*>(elements);
  if (cast_ == WireCast::kHalf) return WidenBlocks<half>(in, count, floats);
  if (cast_ == WireCast::kBfloat16) return WidenBlocks<bfloat16>(in, count, floats);
  std::memcpy(elements, in, count * element_bytes_);
}

absl::StatusOr<WireCodec::Packed> WireCodec::Pack(const char* elements, int64_t count, int64_t own_bytes,
                                                  Allocator* allocator) const {
  const int64_t cast_bytes = CastBytes(count);
  if (!MayCompress(count)) {
    Packed packed;
    ASSIGN_OR_RETURN(packed.bytes, Bytes(allocator, own_bytes + cast_bytes));
    char* const out = static_cast<char*>(packed.bytes.raw_data()) + own_bytes;
    if (count > 0) Narrow(elements, count, out);
    packed.message = {out, static_cast<size_t>(cast_bytes)};
    return packed;
  }
  Tensor narrow;
  const char* plain = elements;
  if (casts()) {
    ASSIGN_OR_RETURN(narrow, Bytes(CpuAllocator(), cast_bytes));
    Narrow(elements, count, static_cast<char*>(narrow.raw_data()));
    plain = static_cast<const char*>(narrow.raw_data());
  }
  const size_t room = std::max<size_t>(CompressedRoom(compression_, cast_bytes), cast_bytes);
  Packed packed;
  ASSIGN_OR_RETURN(packed.bytes, Bytes(allocator, own_bytes + static_cast<int64_t>(room)));
  char* const out = static_cast<char*>(packed.bytes.raw_data()) + own_bytes;
  size_t size = CompressBlock(compression_, {plain, static_cast<size_t>(cast_bytes)}, absl::MakeSpan(out, room));
  if (size == 0 || size >= cast_bytes) {  // no gain: send it uncompressed
    size = cast_bytes;
    std::memcpy(out, plain, cast_bytes);
  }
  packed.message = {out, size};
  return packed;
}

absl::Status WireCodec::CheckSize(int64_t message_bytes, int64_t count) const {
  const int64_t cast_bytes = CastBytes(count);
  if (message_bytes == cast_bytes) return absl::OkStatus();
  if (!MayCompress(count)) {
    return errors::DataLoss("A message of ", cast_bytes, " bytes cannot have size ", message_bytes);
  }
  if (message_bytes > 0 && message_bytes < cast_bytes && CanExpandTo(compression_, message_bytes, cast_bytes)) {
    return absl::OkStatus();
  }
  return errors::DataLoss("A message of ", cast_bytes, " bytes cannot have been compressed to ", message_bytes);
}

absl::StatusOr<absl::Span<const char>> WireCodec::Expanded(absl::Span<const char> message, int64_t count,
                                                           Tensor* buffer) const {
  RETURN_IF_ERROR(CheckSize(static_cast<int64_t>(message.size()), count));
  const auto cast_bytes = static_cast<size_t>(CastBytes(count));
  if (message.size() == cast_bytes) return message;
  ASSIGN_OR_RETURN(*buffer, Bytes(CpuAllocator(), static_cast<int64_t>(cast_bytes)));
  const absl::Span<char> plain(static_cast<char*>(buffer->raw_data()), cast_bytes);
  RETURN_IF_ERROR(ExpandBlock(compression_, message, plain));
  return plain;
}

absl::Status WireCodec::Unpack(absl::Span<const char> message, int64_t count, char* elements) const {
  RETURN_IF_ERROR(CheckSize(static_cast<int64_t>(message.size()), count));
  const auto cast_bytes = static_cast<size_t>(CastBytes(count));
  if (!casts() && message.size() != cast_bytes) return ExpandBlock(compression_, message, {elements, cast_bytes});
  Tensor buffer;
  ASSIGN_OR_RETURN(const absl::Span<const char> plain, Expanded(message, count, &buffer));
  if (count > 0) Widen(plain.data(), count, elements);
  return absl::OkStatus();
}

absl::Status WireCodec::UnpackCombine(absl::Span<const char> message, int64_t count, CombineFunction combine,
                                      const char* from, bool round_from, char* out) const {
  Tensor buffer;
  ASSIGN_OR_RETURN(const absl::Span<const char> plain, Expanded(message, count, &buffer));
  if (!casts()) {
    combine(out, from, plain.data(), count);
    return absl::OkStatus();
  }
  alignas(64) float theirs[kBlock], own[kBlock];
  for (int64_t i = 0; i < count; i += kBlock) {
    const int64_t n = std::min(kBlock, count - i);
    Widen(plain.data() + i * cast_bytes_, n, reinterpret_cast<char*>(theirs));
    const char* mine = from + i * element_bytes_;
    if (round_from) {
      std::memcpy(own, mine, n * sizeof(float));
      Round(reinterpret_cast<char*>(own), n);
      mine = reinterpret_cast<const char*>(own);
    }
    combine(out + i * element_bytes_, mine, theirs, n);
  }
  return absl::OkStatus();
}

void WireCodec::Round(char* elements, int64_t count) const {
  if (!casts()) return;
  alignas(64) char narrow[kBlock * sizeof(half)];
  for (int64_t i = 0; i < count; i += kBlock) {
    const int64_t n = std::min(kBlock, count - i);
    Narrow(elements + i * element_bytes_, n, narrow);
    Widen(narrow, n, elements + i * element_bytes_);
  }
}

}  // namespace weir
