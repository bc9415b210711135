#include "distribute/transport/wire_format.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include <google/protobuf/message_lite.h>

#include "core/memory/out_of_memory.h"

namespace weir {
namespace {

// Below this size a copy is cheaper than a slice.
constexpr size_t kShareFrom = 4096;

void ReleaseTensor(void* tensor) { delete static_cast<Tensor*>(tensor); }
void ReleaseString(void* string) { delete static_cast<std::string*>(string); }

}  // namespace

size_t VarintSize(uint64_t value) {
  size_t size = 1;
  for (; value >= 0x80; value >>= 7) ++size;
  return size;
}

void AppendVarint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}

void WireWriter::Varint(int field, uint64_t value) {
  if (value == 0) return;
  AppendTag(field, WireType::kVarint, &pending_);
  AppendVarint(value, &pending_);
}

void WireWriter::Bytes(int field, absl::string_view value) {
  if (!value.empty()) RepeatedBytes(field, value);
}

void WireWriter::RepeatedBytes(int field, absl::string_view value) {
  BeginMessage(field, value.size());
  Raw(value);
}

void WireWriter::Message(int field, const google::protobuf::MessageLite& message) {
  const std::string bytes = message.SerializeAsString();
  Bytes(field, bytes);
}

void WireWriter::BeginMessage(int field, size_t length) {
  AppendTag(field, WireType::kBytes, &pending_);
  AppendVarint(length, &pending_);
}

void WireWriter::TensorBytes(const Tensor& tensor) {
  Share({static_cast<const char*>(tensor.raw_data()), static_cast<size_t>(tensor.TotalBytes())}, tensor);
}

void WireWriter::TensorStrings(int field, const Tensor& tensor) {
  for (const tstring& value : tensor.flat<tstring>()) {
    BeginMessage(field, value.size());
    Share(value, tensor);
  }
}

void WireWriter::Share(absl::string_view bytes, const Tensor& owner) {
  if (bytes.size() < kShareFrom) return Raw(bytes);
  Flush();
  slices_.emplace_back(const_cast<char*>(bytes.data()), bytes.size(), ReleaseTensor, new Tensor(owner));
}

void WireWriter::Flush() {
  if (pending_.empty()) return;
  if (pending_.size() < kShareFrom) {
    slices_.emplace_back(pending_.data(), pending_.size());
  } else {
    auto* const bytes = new std::string(std::move(pending_));
    slices_.emplace_back(bytes->data(), bytes->size(), ReleaseString, bytes);
  }
  pending_.clear();
}

grpc::ByteBuffer WireWriter::Finish() {
  Flush();
  if (slices_.empty()) slices_.emplace_back();
  grpc::ByteBuffer buffer(slices_.data(), slices_.size());
  slices_.clear();
  return buffer;
}

WireReader::WireReader(const grpc::ByteBuffer& buffer) {
  if (!buffer.Valid()) return;
  grpc::Slice single;
  if (buffer.TrySingleSlice(&single).ok()) {
    slices_.push_back(std::move(single));
  } else if (!buffer.Dump(&slices_).ok()) {
    slices_.clear();
  }
  for (const grpc::Slice& slice : slices_) limit_ += slice.size();
}

bool WireReader::EnterSlice() {
  while (slice_ < slices_.size() && offset_ == slices_[slice_].size()) {
    ++slice_;
    offset_ = 0;
  }
  return slice_ < slices_.size();
}

bool WireReader::Byte(uint8_t* value) {
  if (position_ == limit_ || !EnterSlice()) return false;
  *value = slices_[slice_].begin()[offset_];
  ++offset_;
  ++position_;
  return true;
}

bool WireReader::Varint(uint64_t* value) {
  uint64_t result = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    uint8_t byte;
    if (!Byte(&byte)) return false;
    result |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) {
      *value = result;
      return shift < 63 || byte <= 1;
    }
  }
  return false;
}

bool WireReader::Tag(int* field, WireType* type) {
  uint64_t tag;
  if (!Varint(&tag) || tag > std::numeric_limits<uint32_t>::max()) return false;
  *field = static_cast<int>(tag >> 3);
  *type = static_cast<WireType>(tag & 7);
  return *field != 0 && (*type == WireType::kVarint || *type == WireType::kFixed64 || *type == WireType::kBytes ||
                         *type == WireType::kFixed32);
}

bool WireReader::Length(size_t* length) {
  uint64_t value;
  if (!Varint(&value) || value > remaining()) return false;
  *length = value;
  return true;
}

bool WireReader::Copy(void* destination, size_t size) {
  if (size > remaining()) return false;
  char* out = static_cast<char*>(destination);
  while (size > 0) {
    if (!EnterSlice()) return false;
    const size_t part = std::min(size, slices_[slice_].size() - offset_);
    std::memcpy(out, slices_[slice_].begin() + offset_, part);
    out += part;
    size -= part;
    offset_ += part;
    position_ += part;
  }
  return true;
}

bool WireReader::SkipBytes(size_t size) {
  if (size > remaining()) return false;
  while (size > 0) {
    if (!EnterSlice()) return false;
    const size_t part = std::min(size, slices_[slice_].size() - offset_);
    size -= part;
    offset_ += part;
    position_ += part;
  }
  return true;
}

bool WireReader::String(std::string* value) {
  size_t length;
  if (!Length(&length)) return false;
  value->resize(length);
  return Copy(value->data(), length);
}

bool WireReader::Message(google::protobuf::MessageLite* message) {
  size_t length;
  if (!Length(&length) || length > std::numeric_limits<int>::max()) return false;
  if (length == 0) return message->MergeFromString("");
  if (!EnterSlice()) return false;
  if (slices_[slice_].size() - offset_ >= length) {
    const uint8_t* bytes = slices_[slice_].begin() + offset_;
    return SkipBytes(length) && message->ParseFromArray(bytes, static_cast<int>(length));
  }
  std::string bytes(length, '\0');
  return Copy(bytes.data(), length) && message->ParseFromString(bytes);
}

bool WireReader::Skip(WireType type) {
  uint64_t ignored;
  size_t length;
  switch (type) {
    case WireType::kVarint:
      return Varint(&ignored);
    case WireType::kFixed64:
      return SkipBytes(8);
    case WireType::kFixed32:
      return SkipBytes(4);
    case WireType::kBytes:
      return Length(&length) && SkipBytes(length);
  }
  return false;
}

size_t WireReader::PushLimit(size_t length) {
  const size_t outer = limit_;
  limit_ = std::min(limit_, position_ + length);
  return outer;
}

void WireReader::Rewind(const Mark& mark) {
  slice_ = mark.slice;
  offset_ = mark.offset;
  position_ = mark.position;
}

absl::StatusOr<grpc::ByteBuffer> MessageToBuffer(const google::protobuf::MessageLite& message) {
  const size_t size = message.ByteSizeLong();
  if (size > std::numeric_limits<int>::max()) {
    return errors::InvalidArgument(message.GetTypeName(), " has ", size, " bytes, and a message holds less than 2 GiB");
  }
  grpc::Slice slice(size);
  message.SerializeWithCachedSizesToArray(const_cast<uint8_t*>(slice.begin()));
  return grpc::ByteBuffer(&slice, 1);
}

absl::Status MessageFromBuffer(const grpc::ByteBuffer& buffer, google::protobuf::MessageLite* message) {
  const auto malformed = [&] {
    return errors::InvalidArgument("The ", buffer.Length(), " bytes received are not a valid ", message->GetTypeName());
  };
  if (buffer.Length() > std::numeric_limits<int>::max()) return malformed();
  if (!buffer.Valid()) return message->ParseFromString("") ? absl::OkStatus() : malformed();
  grpc::Slice slice;
  if (!buffer.TrySingleSlice(&slice).ok() && !buffer.DumpToSingleSlice(&slice).ok()) return malformed();
  return OrOutOfMemory([&] {  // a parsed message may take much more memory than its bytes
    return message->ParseFromArray(slice.begin(), static_cast<int>(slice.size())) ? absl::OkStatus() : malformed();
  });
}

}  // namespace weir
