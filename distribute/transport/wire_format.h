// Protobuf's wire format written to and read from gRPC byte buffers by hand, so that tensor bytes never pass through a
// protobuf message.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <grpcpp/support/byte_buffer.h>

#include "absl/strings/string_view.h"
#include "core/status.h"
#include "core/tensor.h"

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

// Builds one message. Not thread-safe. Fields with default values are left out, as proto3 does.
class WireWriter {
 public:
  void Varint(int field, uint64_t value);
  void Bytes(int field, absl::string_view value);
  // A string element of a repeated field: written even when empty.
  void RepeatedBytes(int field, absl::string_view value);
  void Message(int field, const google::protobuf::MessageLite& message);
  // The tag and length of a sub-message whose `length` bytes follow.
  void BeginMessage(int field, size_t length);
  void Raw(absl::string_view bytes) { pending_.append(bytes.data(), bytes.size()); }
  // The bytes of a plain tensor. Large ones are not copied: the buffer lives until gRPC has sent them.
  void TensorBytes(const Tensor& tensor);
  // The elements of a tensor of strings as a repeated field. Large ones are not copied, either.
  void TensorStrings(int field, const Tensor& tensor);

  grpc::ByteBuffer Finish();

 private:
  void Share(absl::string_view bytes, const Tensor& owner);
  void Flush();

  std::string pending_;
  std::vector<grpc::Slice> slices_;
};

// Reads one message that may lie in many slices. Not thread-safe. Methods return false where the bytes are malformed or
// end early; nothing is allocated before the length is known to be there.
class WireReader {
 public:
  explicit WireReader(const grpc::ByteBuffer& buffer);

  bool AtEnd() const { return position_ == limit_; }
  size_t position() const { return position_; }
  size_t remaining() const { return limit_ - position_; }

  bool Tag(int* field, WireType* type);
  bool Varint(uint64_t* value);
  bool Length(size_t* length);  // of what follows, within the limit
  bool Copy(void* destination, size_t size);
  bool String(std::string* value);                       // length and bytes
  bool Message(google::protobuf::MessageLite* message);  // length and message
  bool Skip(WireType type);

  // Restricts reading to the next `length` bytes, until PopLimit of what this returned.
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
  bool EnterSlice();  // makes offset_ point at a byte, where there is one

  std::vector<grpc::Slice> slices_;
  size_t slice_ = 0;
  size_t offset_ = 0;  // in slice_
  size_t position_ = 0;
  size_t limit_ = 0;
};

// Whole messages through protobuf, for those that carry no tensors.
absl::StatusOr<grpc::ByteBuffer> MessageToBuffer(const google::protobuf::MessageLite& message);
// InvalidArgument, naming the message's type, for malformed bytes.
absl::Status MessageFromBuffer(const grpc::ByteBuffer& buffer, google::protobuf::MessageLite* message);

}  // namespace weir
