// Encodes frames in the messages of a stream.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <grpcpp/support/byte_buffer.h>

#include "absl/functional/function_ref.h"
#include "core/status.h"
#include "distribute/transport/frames/frame_link.h"

namespace weir {

// Precedes the bytes of each frame; little endian.
struct StreamFrameHead {
  uint32_t kind = 0;  // a FrameKind, or one of those below
  uint32_t channel = 0;
  uint64_t size = 0;  // of the bytes that follow
};
static_assert(sizeof(StreamFrameHead) == 16);
// Gives the peer `size` bytes of credit; no bytes follow.
constexpr uint32_t kCreditFrame = 0x100;
// A sign of life.
constexpr uint32_t kBeatFrame = 0x101;

// The credit that a frame takes beyond its bytes, for its bookkeeping.
constexpr uint64_t kFrameCost = 64;
constexpr uint64_t CreditFor(uint64_t bytes) { return kFrameCost + bytes; }

// Builds one message. Small frames are copied together; larger ones are referenced until gRPC has sent them.
class StreamMessageWriter {
 public:
  void Add(const FrameHead& head, ReceivedBytes bytes);
  void AddCredit(uint64_t credit) { AddHead({.kind = kCreditFrame, .size = credit}); }
  void AddBeat() { AddHead({.kind = kBeatFrame}); }
  size_t size() const { return size_; }
  // The buffers that were copied; release them with no lock held.
  std::vector<ReceivedBytes>& copied() { return copied_; }
  grpc::ByteBuffer Finish();

 private:
  void AddHead(const StreamFrameHead& head);
  void CloseSlice();

  std::string open_;  // the slice that frames are copied into
  std::vector<grpc::Slice> slices_;
  std::vector<ReceivedBytes> copied_;
  size_t size_ = 0;
};

// Calls take(head, pieces) for each frame of a message, in order, while it returns true. `pieces` are the received
// slices, not copied. InvalidArgument for a malformed message or a frame larger than `max_frame_bytes`; earlier frames
// have been taken by then.
using TakeFrame = absl::FunctionRef<bool(const StreamFrameHead& head, std::vector<grpc::Slice> pieces)>;
absl::Status ReadStreamMessage(const grpc::ByteBuffer& message, uint64_t max_frame_bytes, TakeFrame take);

}  // namespace weir
