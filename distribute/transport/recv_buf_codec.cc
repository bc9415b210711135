#include "distribute/transport/recv_buf_codec.h"

#include <memory>
#include <utility>
#include <vector>

#include <google/protobuf/io/coded_stream.h>

#include "distribute/transport/wire_format.h"
#include "tensorflow/core/protobuf/transport_options.pb.h"

namespace weir {
namespace {

using google::protobuf::io::CodedInputStream;

constexpr char kExtraType[] = "type.googleapis.com/tensorflow.RecvBufRespExtra";
// Field numbers of RecvBufResponse, Any and RecvBufRespExtra.
constexpr int kNumBytes = 2, kTransportOptions = 4, kSendStartMicros = 5, kRequireAck = 6;
constexpr int kTypeUrl = 1, kValue = 2;
constexpr int kTensorContent = 1;

void AppendVarintField(int field, uint64_t value, std::string* out) {
  AppendTag(field, WireType::kVarint, out);
  AppendVarint(value, out);
}

void AppendLengthTag(int field, uint64_t length, std::string* out) {
  AppendTag(field, WireType::kBytes, out);
  AppendVarint(length, out);
}

std::string Head(int64_t num_bytes, int64_t send_micros) {
  std::string head;
  AppendVarintField(kNumBytes, static_cast<uint64_t>(num_bytes), &head);
  AppendVarintField(kSendStartMicros, static_cast<uint64_t>(send_micros), &head);
  return head;
}

absl::Status Malformed() { return errors::InvalidArgument("Malformed RecvBufResponse"); }

// A contiguous part of the message.
struct Piece {
  const char* data = nullptr;
  size_t size = 0;
};

bool ReadPiece(CodedInputStream& in, Piece* piece) {
  uint32_t length = 0;
  if (!in.ReadVarint32(&length)) return false;
  const void* data = nullptr;
  int available = 0;
  in.GetDirectBufferPointerInline(&data, &available);
  if (length > static_cast<uint32_t>(available)) return false;
  *piece = {static_cast<const char*>(data), length};
  return in.Skip(static_cast<int>(length));
}

bool SkipField(CodedInputStream& in, uint32_t tag) {
  uint64_t ignored;
  Piece piece;
  switch (static_cast<WireType>(tag & 7)) {
    case WireType::kVarint:
      return in.ReadVarint64(&ignored);
    case WireType::kFixed64:
      return in.Skip(8);
    case WireType::kFixed32:
      return in.Skip(4);
    case WireType::kBytes:
      return ReadPiece(in, &piece);
  }
  return false;
}

uint32_t TagOf(int field, WireType type) { return static_cast<uint32_t>(field) << 3 | static_cast<uint32_t>(type); }

// Calls `take` for each field with that number and length. False if the message is malformed.
template <typename Take>
bool ForEachPiece(const Piece& message, const Take& take) {
  CodedInputStream in(reinterpret_cast<const uint8_t*>(message.data), static_cast<int>(message.size));
  while (const uint32_t tag = in.ReadTag()) {
    Piece piece;
    if ((tag & 7) != static_cast<uint32_t>(WireType::kBytes)) {
      if (!SkipField(in, tag)) return false;
    } else {
      if (!ReadPiece(in, &piece)) return false;
      take(static_cast<int>(tag >> 3), piece);
    }
  }
  return in.ConsumedEntireMessage();
}

}  // namespace

grpc::ByteBuffer EncodeRecvBufResponse(ReceivedBytes bytes, int64_t send_micros) {
  const size_t size = bytes.bytes().size();
  std::string content_tag;
  AppendLengthTag(kTensorContent, size, &content_tag);
  std::string any;
  AppendLengthTag(kTypeUrl, sizeof(kExtraType) - 1, &any);
  any += kExtraType;
  AppendLengthTag(kValue, content_tag.size() + size, &any);
  any += content_tag;
  std::string head = Head(static_cast<int64_t>(size), send_micros);
  AppendLengthTag(kTransportOptions, any.size() + size, &head);
  head += any;
  std::vector<grpc::Slice> slices = {grpc::Slice(head)};
  if (size > 0) {
    auto* const held = new ReceivedBytes(std::move(bytes));
    slices.emplace_back(
        const_cast<char*>(held->bytes().data()), size,
        [](void* user_data) { delete static_cast<ReceivedBytes*>(user_data); }, held);
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

grpc::ByteBuffer EncodeRecvBufResponse(int64_t num_bytes, int64_t send_micros, const std::string& transport_options) {
  std::string head = Head(num_bytes, send_micros);
  AppendLengthTag(kTransportOptions, transport_options.size(), &head);
  head += transport_options;
  const grpc::Slice slice(head);
  return grpc::ByteBuffer(&slice, 1);
}

absl::StatusOr<WireBuffer> DecodeRecvBufResponse(const grpc::ByteBuffer& buffer) {
  auto flat = std::make_shared<grpc::Slice>();
  if (!buffer.DumpToSingleSlice(flat.get()).ok()) return Malformed();
  WireBuffer wire;
  Piece options;
  CodedInputStream in(flat->begin(), static_cast<int>(flat->size()));
  while (const uint32_t tag = in.ReadTag()) {
    uint64_t value = 0;
    bool is_good = true;
    if (tag == TagOf(kNumBytes, WireType::kVarint)) {
      is_good = in.ReadVarint64(&value);
      wire.num_bytes = static_cast<int64_t>(value);
    } else if (tag == TagOf(kRequireAck, WireType::kVarint)) {
      is_good = in.ReadVarint64(&value);
      wire.require_ack = value != 0;
    } else if (tag == TagOf(kTransportOptions, WireType::kBytes)) {
      is_good = ReadPiece(in, &options);
    } else {
      is_good = SkipField(in, tag);
    }
    if (!is_good) return Malformed();
  }
  if (!in.ConsumedEntireMessage()) return Malformed();
  Piece type, value;
  if (!ForEachPiece(options, [&](int field, const Piece& piece) {
        if (field == kTypeUrl) type = piece;
        if (field == kValue) value = piece;
      })) {
    return Malformed();
  }
  if (absl::string_view(type.data, type.size) != kExtraType && type.size > 0) {
    wire.transport_options.assign(options.data, options.size);
    return wire;
  }
  std::vector<Piece> pieces;
  if (!ForEachPiece(value, [&](int field, const Piece& piece) {
        if (field == kTensorContent) pieces.push_back(piece);
      })) {
    return Malformed();
  }
  size_t total = 0;
  for (const Piece& piece : pieces) total += piece.size;
  if (wire.num_bytes < 0 || total != static_cast<uint64_t>(wire.num_bytes)) {
    return errors::InvalidArgument("RecvBufResponse of ", wire.num_bytes, " bytes holds ", total);
  }
  if (pieces.size() <= 1) {
    const Piece piece = pieces.empty() ? Piece() : pieces.front();
    wire.bytes = ReceivedBytes({piece.data, piece.size}, [flat] {});
    return wire;
  }
  auto joined = std::make_shared<std::string>();
  joined->reserve(total);
  for (const Piece& piece : pieces) joined->append(piece.data, piece.size);
  wire.bytes = ReceivedBytes(*joined, [joined] {});
  return wire;
}

}  // namespace weir
