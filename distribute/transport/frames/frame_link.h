// Frames between two tasks: what pushes buffers and carries calls, and transports implement.
#pragma once

#include <cstdint>
#include <string>

#include <grpcpp/support/slice.h>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "core/status.h"
#include "distribute/transport/received_bytes.h"

namespace weir {

enum class FrameKind : uint32_t {
  kRequest = 1,  // for a buffer, which is to come under the frame's channel: a RecvBufRequest
  kCancel = 2,   // the channel's request
  kBuffer = 3,   // what the channel's request was for
  kError = 4,    // why it does not come
  kCall = 5,     // a method of WorkerService, whose answer is to come under the channel: a CallHead and the request
  kPart = 6,     // of the answer; more follows
  kAnswer = 7,   // the rest of it
};

struct FrameHead {
  FrameKind kind = FrameKind::kRequest;
  uint32_t channel = 0;
};

// One end. Thread-safe. Frames of a channel arrive in the order in which they were sent, once each. Send never blocks:
// what the link has no room for waits in the sender's memory, where it lies, so a sender must not send more than it was
// asked for; nor ask for more once the link is full. Frames of different channels may overtake each other. Kept alive
// by what carries it until it is broken.
class FrameLink {
 public:
  // No call is made with a lock held. Both may come on any thread, and OnFrame on several at once.
  class Receiver {
   public:
    virtual ~Receiver() = default;
    // The peer may write to `bytes` at any time: nothing that matters is read from them twice.
    virtual void OnFrame(const FrameHead& head, ReceivedBytes bytes) = 0;
    // Once; the link lets go of the receiver then. Nothing comes after it but what is under way.
    virtual void OnBroken(const absl::Status& status) = 0;
    // Several times a second: calls that are late end.
    virtual void OnTick(absl::Time /*now*/) {}
  };

  virtual ~FrameLink() = default;
  // Lets go of `bytes`, which are at most max_frame_bytes(), when they are sent or the link is broken.
  virtual void Send(const FrameHead& head, ReceivedBytes bytes) = 0;
  virtual uint64_t max_frame_bytes() const = 0;
  // So much waits to be sent that what can go another way had better.
  virtual bool is_full() const { return false; }
  // Tells the peer. Later calls do nothing.
  virtual void Break(const absl::Status& status) = 0;
  // The way that frames take, for people: "through a link". Lives for ever.
  virtual const char* way() const = 0;
  // Bytes of a frame that has arrived, to be kept: the peer cannot change them any more. Copied where need be.
  virtual grpc::Slice Keep(ReceivedBytes bytes) = 0;
  // Runs `work`, which may compute for long: here, unless this thread is the one that takes frames in; else soon on
  // another.
  virtual void RunElsewhere(absl::AnyInvocable<void()> work) = 0;
};

// Bytes that the frame owns.
ReceivedBytes OwnedBytes(std::string bytes);
// A copy.
grpc::Slice CopyOf(const ReceivedBytes& bytes);

}  // namespace weir
