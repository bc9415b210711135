#include "distribute/transport/stream/stream_message.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <utility>

namespace weir {
namespace {

static_assert(std::endian::native == std::endian::little, "Frames between hosts are little endian, as tensors are");

// Up to this size a copy is cheaper than a slice.
constexpr size_t kCopiedBytes = 4 << 10;

// A slice over existing memory, which `keeper` keeps alive.
template <typename Keeper>
grpc::Slice Borrowed(absl::Span<const char> bytes, std::unique_ptr<Keeper> keeper) {
  return {const_cast<char*>(bytes.data()), bytes.size(), [](void* kept) { delete static_cast<Keeper*>(kept); },
          keeper.release()};
}

// A position in a message of several slices.
class Cursor {
 public:
  explicit Cursor(std::vector<grpc::Slice> slices) : slices_(std::move(slices)) {
    for (const grpc::Slice& slice : slices_) left_ += slice.size();
  }
  size_t left() const { return left_; }
  // The caller has checked that enough bytes are left.
  void Copy(char* to, size_t size) {
    Take(size, [&to](const grpc::Slice& slice, size_t begin, size_t length) {
      std::memcpy(to, slice.begin() + begin, length);
      to += length;
    });
  }
  std::vector<grpc::Slice> Pieces(size_t size) {
    std::vector<grpc::Slice> pieces;
    Take(size, [&pieces](const grpc::Slice& slice, size_t begin, size_t length) {
      pieces.push_back(begin == 0 && length == slice.size() ? slice : slice.sub(begin, begin + length));
    });
    return pieces;
  }

 private:
  template <typename Each>
  void Take(size_t size, const Each& each) {
    left_ -= size;
    while (size > 0) {
      const grpc::Slice& slice = slices_[slice_];
      const size_t length = std::min(size, slice.size() - offset_);
      if (length > 0) each(slice, offset_, length);
      size -= length;
      offset_ += length;
      if (offset_ == slice.size()) {
        ++slice_;
        offset_ = 0;
      }
    }
  }

  const std::vector<grpc::Slice> slices_;
  size_t slice_ = 0, offset_ = 0;
  size_t left_ = 0;
};

}  // namespace

void StreamMessageWriter::AddHead(const StreamFrameHead& head) {
  open_.append(reinterpret_cast<const char*>(&head), sizeof(head));
  size_ += sizeof(head);
}

void StreamMessageWriter::Add(const FrameHead& head, ReceivedBytes bytes) {
  const absl::Span<const char> span = bytes.bytes();
  AddHead({static_cast<uint32_t>(head.kind), head.channel, span.size()});
  size_ += span.size();
  if (span.size() <= kCopiedBytes) {
    open_.append(span.data(), span.size());
    copied_.push_back(std::move(bytes));
    return;
  }
  CloseSlice();
  slices_.push_back(Borrowed(span, std::make_unique<ReceivedBytes>(std::move(bytes))));
}

void StreamMessageWriter::CloseSlice() {
  if (open_.empty()) return;
  auto closed = std::make_unique<std::string>(std::move(open_));
  const absl::Span<const char> bytes(*closed);
  slices_.push_back(Borrowed(bytes, std::move(closed)));
  open_.clear();
}

grpc::ByteBuffer StreamMessageWriter::Finish() {
  CloseSlice();
  return {slices_.data(), slices_.size()};
}

absl::Status ReadStreamMessage(const grpc::ByteBuffer& message, uint64_t max_frame_bytes, TakeFrame take) {
  std::vector<grpc::Slice> slices;
  if (message.Valid() && message.Length() > 0 && !message.Dump(&slices).ok()) {
    return errors::InvalidArgument("a message that cannot be read");
  }
  Cursor cursor(std::move(slices));
  if (cursor.left() == 0) return errors::InvalidArgument("an empty message");
  while (cursor.left() > 0) {
    if (cursor.left() < sizeof(StreamFrameHead)) {
      return errors::InvalidArgument("a message that ends within the head of a frame");
    }
    StreamFrameHead head;
    cursor.Copy(reinterpret_cast<char*>(&head), sizeof(head));
    const uint64_t size = head.kind == kCreditFrame ? 0 : head.size;
    if (size > max_frame_bytes) {
      return errors::InvalidArgument("a frame of ", size, " bytes, which may have ", max_frame_bytes);
    }
    if (size > cursor.left()) {
      return errors::InvalidArgument("a frame of ", size, " bytes where its message has ", cursor.left(), " left");
    }
    if (!take(head, cursor.Pieces(size))) break;
  }
  return absl::OkStatus();
}

}  // namespace weir
