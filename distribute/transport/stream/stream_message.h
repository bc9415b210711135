// Frames in the messages of a stream.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <grpcpp/support/byte_buffer.h>

#include "absl/functional/function_ref.h"
#include "core/status.h"
#include "distribute/transport/frames/frame_link.h"

namespace weir {

// What stands before the bytes of each frame, little endian.
struct StreamFrameHead {
  uint32_t kind = 0;  // a FrameKind, or one of the next
  uint32_t channel = 0;
  uint64_t size = 0;  // of the bytes that follow
};
static_assert(sizeof(StreamFrameHead) == 16);
// `size` is so much credit for the peer; no bytes follow.
constexpr uint32_t kCreditFrame = 0x100;
// A sign of life.
constexpr uint32_t kBeatFrame = 0x101;

// What a frame takes of the credit: its bytes, and what it costs to look after one.
constexpr uint64_t kFrameCost = 64;
constexpr uint64_t CreditFor(uint64_t bytes) { return kFrameCost + bytes; }

// Builds one message. Small frames are copied together, the bytes of others stay where they lie until gRPC has sent
// them.
class StreamMessageWriter {
 public:
  void Add(const FrameHead& head, ReceivedBytes bytes);
  void AddCredit(uint64_t credit) { AddHead({.kind = kCreditFrame, .size = credit}); }
  void AddBeat() { AddHead({.kind = kBeatFrame}); }
  size_t size() const { return size_; }
  // What was copied, to be let go of when no lock is held.
  std::vector<ReceivedBytes>& copied() { return copied_; }
  grpc::ByteBuffer Finish();

 private:
  void AddHead(const StreamFrameHead& head);
  void CloseSlice();

  std::string open_;  // the slice that frames are copied to
  std::vector<grpc::Slice> slices_;
  std::vector<ReceivedBytes> copied_;
  size_t size_ = 0;
};

// Calls take(head, pieces) for each frame of a message, in order, as long as that returns true. `pieces` hold the bytes
// as they lie: in as many slices as gRPC has received them. InvalidArgument for what is no sequence of frames, or has
// one of more than `max_frame_bytes`; frames before it have been taken.
using TakeFrame = absl::FunctionRef<bool(const StreamFrameHead& head, std::vector<grpc::Slice> pieces)>;
absl::Status ReadStreamMessage(const grpc::ByteBuffer& message, uint64_t max_frame_bytes, TakeFrame take);

}  // namespace weir
