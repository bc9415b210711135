#include "core/wire/wire_tensor.h"

#include <cstring>

#include "core/wire/wire_codec.h"

namespace weir {
namespace {

constexpr uint8_t kVersion = 1;
constexpr int64_t kMinCastBytes = 1 << 10;

// Precedes the message, followed by the dimensions, 8 bytes each.
struct Head {
  uint8_t version = kVersion;
  uint8_t dtype = 0;
  WireCast cast = WireCast::kNone;
  WireCompression compression = WireCompression::kNone;
  uint8_t rank = 0;
};
static_assert(sizeof(Head) == 5);

absl::Status NotEncoded(const Tensor& encoded, absl::string_view why) {
  return errors::DataLoss("The received tensor, ", DataTypeName(encoded.dtype()), " ", encoded.shape().ToString(),
                          ", is not in the wire encoding: ", why);
}

}  // namespace

absl::StatusOr<Tensor> EncodeForWire(const WireOptions& options, const Tensor& tensor, Allocator* allocator) {
  if (!IsPlainType(tensor.dtype())) {
    return errors::Unimplemented("Tensors of ", DataTypeName(tensor.dtype()), " are neither cast nor compressed");
  }
  Head head{.dtype = static_cast<uint8_t>(tensor.dtype()),
            .cast = tensor.TotalBytes() < kMinCastBytes ? WireCast::kNone : options.cast,
            .compression = options.compression,
            .rank = static_cast<uint8_t>(tensor.dims())};
  const auto dims = tensor.shape().dim_sizes();
  const size_t dims_bytes = dims.size() * sizeof(int64_t);
  const WireCodec codec({head.cast, head.compression}, tensor.dtype());
  ASSIGN_OR_RETURN(const WireCodec::Packed packed,
                   codec.Pack(static_cast<const char*>(tensor.raw_data()), tensor.NumElements(),
                              sizeof(Head) + dims_bytes, allocator));
  auto* const begin = static_cast<char*>(packed.bytes.raw_data());
  std::memcpy(begin, &head, sizeof(Head));
  if (dims_bytes > 0) std::memcpy(begin + sizeof(Head), dims.data(), dims_bytes);
  return packed.bytes.Slice(0, packed.message.data() + packed.message.size() - begin);
}

absl::StatusOr<Tensor> DecodeFromWire(const Tensor& encoded, DataType dtype, Allocator* allocator) {
  if (encoded.dtype() != DT_UINT8 || encoded.dims() != 1) return NotEncoded(encoded, "not a vector of uint8");
  absl::Span<const char> bytes(static_cast<const char*>(encoded.raw_data()), encoded.TotalBytes());
  Head head;
  if (bytes.size() < sizeof(Head)) return NotEncoded(encoded, "too short");
  std::memcpy(&head, bytes.data(), sizeof(Head));
  bytes.remove_prefix(sizeof(Head));
  if (head.version != kVersion || head.cast > WireCast::kBfloat16 || head.compression > WireCompression::kSnappy) {
    return NotEncoded(encoded, "another version, or no options that are known");
  }
  if (head.dtype != dtype || !IsPlainType(dtype)) {
    return NotEncoded(encoded, absl::StrCat("not of type ", DataTypeName(dtype)));
  }
  DimVector dims(head.rank);
  const size_t dims_bytes = dims.size() * sizeof(int64_t);
  if (bytes.size() < dims_bytes) return NotEncoded(encoded, "it ends within its shape");
  if (dims_bytes > 0) std::memcpy(dims.data(), bytes.data(), dims_bytes);
  bytes.remove_prefix(dims_bytes);
  const absl::StatusOr<TensorShape> shape = TensorShape::Build(dims);
  if (!shape.ok()) return NotEncoded(encoded, shape.status().message());
  const WireCodec codec({head.cast, head.compression}, dtype);
  if (MultiplyWithoutOverflow(shape->num_elements(), static_cast<int64_t>(DataTypeSize(dtype))) < 0) {
    return NotEncoded(encoded, "its size overflows");
  }
  RETURN_IF_ERROR(codec.CheckSize(static_cast<int64_t>(bytes.size()), shape->num_elements()));
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(allocator, dtype, *shape));
  RETURN_IF_ERROR(codec.Unpack(bytes, tensor.NumElements(), static_cast<char*>(tensor.raw_data())));
  return tensor;
}

}  // namespace weir
