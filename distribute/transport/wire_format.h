// Writes and reads protobuf's wire format in gRPC byte buffers by hand, so that tensor bytes never pass through a
// protobuf message.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <grpcpp/support/byte_buffer.h>

#include "absl/strings/string_view.h"
#include "core/status.h"
#include "core/tensor/tensor.h"

namespace google::protobuf {
class MessageLite;
}

namespace weir {

enum class WireType : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

size_t VarintSize(uint64_t value);
void AppendVarint(uint64_t value, std::string* out);
inline void AppendTag(int field, WireType type, std::string* out) {
  AppendVarint(static_cast<uint64_t>(field) << 3 | static_cast<uint32_t>(type), out);
}

// Builds one message. Not thread-safe. Omits fields with default values, as proto3 does.
class WireWriter {
 public:
  void Varint(int field, uint64_t value);
  void Bytes(int field, absl::string_view value);
  // A string element of a repeated field: written even if it is empty.
  void RepeatedBytes(int field, absl::string_view value);
  void Message(int field, const google::protobuf::MessageLite& message);
  // The tag and length of a sub-message; its `length` bytes follow.
  void BeginMessage(int field, size_t length);
  void Raw(absl::string_view bytes) { pending_.append(bytes.data(), bytes.size()); }
  // The bytes of a plain tensor. Large ones are not copied: gRPC keeps the buffer until they are sent.
  void TensorBytes(const Tensor& tensor);
  // The elements of a string tensor as a repeated field. Large ones are not copied either.
  void TensorStrings(int field, const Tensor& tensor);

  grpc::ByteBuffer Finish();

 private:
  void Share(absl::string_view bytes, const Tensor& owner);
  void Flush();

  std::string pending_;
  std::vector<grpc::Slice> slices_;
};

// Reads one message, which may span many slices. Not thread-safe. Methods return false for bytes that are malformed or
// end early; nothing is allocated before its length is known to be available.
class WireReader {
 public:
  explicit WireReader(const grpc::ByteBuffer& buffer);

  bool AtEnd() const { return position_ == limit_; }
  size_t position() const { return position_; }
  size_t remaining() const { return limit_ - position_; }

  bool Tag(int* field, WireType* type);
  bool Varint(uint64_t* value);
  bool Length(size_t* length);  // of the bytes that follow, within the limit
  bool Copy(void* destination, size_t size);
  bool String(std::string* value);                       // length and bytes
  bool Message(google::protobuf::MessageLite* message);  // length and message
  bool Skip(WireType type);

  // Restricts reading to the next `length` bytes, until PopLimit with the returned value.
  size_t PushLimit(size_t length);
  void PopLimit(size_t outer) { limit_ = outer; }

  struct Mark {
    size_t slice, offset, position;
  };
  Mark Here() const { return {slice_, offset_, position_}; }
  void Rewind(const Mark& mark);

 private:
  bool Byte(uint8_t* value);
  bool SkipBytes(size_t size);
  bool EnterSlice();  // advances to a slice with bytes left, if there is one

  std::vector<grpc::Slice> slices_;
  size_t slice_ = 0;
  size_t offset_ = 0;  // in slice_
  size_t position_ = 0;
  size_t limit_ = 0;
};

// Messages without tensors, through protobuf.
absl::StatusOr<grpc::ByteBuffer> MessageToBuffer(const google::protobuf::MessageLite& message);
// InvalidArgument, with the message's type, for malformed bytes.
absl::Status MessageFromBuffer(const grpc::ByteBuffer& buffer, google::protobuf::MessageLite* message);

}  // namespace weir
