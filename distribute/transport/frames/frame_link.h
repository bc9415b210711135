// A connection between two tasks that carries frames: buffers of collectives, or calls.
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
  kRequest = 1,  // a RecvBufRequest; the buffer arrives on the frame's channel
  kCancel = 2,   // cancels the channel's request
  kBuffer = 3,   // the requested buffer
  kError = 4,    // the request's error
  kCall = 5,     // a CallHead and a WorkerService request; the answer arrives on the frame's channel
  kPart = 6,     // part of the answer; more follows
  kAnswer = 7,   // the last part of the answer
};

struct FrameHead {
  FrameKind kind = FrameKind::kRequest;
  uint32_t channel = 0;
};

// One end of a link. Thread-safe.
// - Frames of one channel arrive once each, in the order in which they were sent; channels may overtake each other.
// - Send never blocks. Frames wait in the sender's memory, without a copy, until the link has room. So a sender must
//   send only what was requested, and stop making requests while the link is full.
// - The transport keeps the link alive until it is broken.
class FrameLink {
 public:
  // Called with no lock held, from any thread; OnFrame may run on several threads at once.
  class Receiver {
   public:
    virtual ~Receiver() = default;
    // The peer may write to `bytes` at any time, so read what has to be checked only once.
    virtual void OnFrame(const FrameHead& head, ReceivedBytes bytes) = 0;
    // Called once; the link then releases the receiver. Calls of OnFrame that already run may end later.
    virtual void OnBroken(const absl::Status& status) = 0;
    // Called several times a second, to end calls past their deadline.
    virtual void OnTick(absl::Time /*now*/) {}
  };

  virtual ~FrameLink() = default;
  // Releases `bytes`, at most max_frame_bytes() long, once they are sent or the link is broken.
  virtual void Send(const FrameHead& head, ReceivedBytes bytes) = 0;
  virtual uint64_t max_frame_bytes() const = 0;
  // True if so much waits to be sent that requests should use another route.
  virtual bool is_full() const { return false; }
  // Notifies the peer. Later calls do nothing.
  virtual void Break(const absl::Status& status) = 0;
  // The route of the link's frames, for people: "through a link". A static string.
  virtual const char* route() const = 0;
  // Takes the bytes of a received frame in a form that the peer cannot change any more. Copies if needed.
  virtual grpc::Slice Keep(ReceivedBytes bytes) = 0;
  // Runs `work`, which may take long: inline, unless this thread reads frames; else soon, on another thread.
  virtual void RunElsewhere(absl::AnyInvocable<void()> work) = 0;
};

// Bytes owned by the frame.
ReceivedBytes OwnedBytes(std::string bytes);
// A copy.
grpc::Slice CopyOf(const ReceivedBytes& bytes);

}  // namespace weir
