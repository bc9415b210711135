// Messages both ways over one long-lived call.
#pragma once

#include <memory>

#include <grpcpp/support/byte_buffer.h>

#include "core/status.h"

namespace weir {

// One end. Messages arrive in the order in which they were written. Thread-safe, but at most one Read and one Write are
// under way at a time. Never blocks. Kept alive by what carries it from Start until it ends.
class MessageStream {
 public:
  // No call is made with a lock held, and any may come on any thread.
  class Listener {
   public:
    virtual ~Listener() = default;
    // Once, first: messages can be read and written.
    virtual void OnReady() = 0;
    // What a Read was for. The next message comes after the next Read.
    virtual void OnMessage(const grpc::ByteBuffer& message) = 0;
    // The Write's message is on its way: another may follow.
    virtual void OnWritten() = 0;
    // Once, last but for an OnMessage or OnWritten under way; never OK. The stream lets go of the listener then.
    virtual void OnEnd(const absl::Status& status) = 0;
  };

  virtual ~MessageStream() = default;
  // Once; Refuse may take its place.
  virtual void Start(std::shared_ptr<Listener> listener) = 0;
  // These do nothing once the stream is ending.
  virtual void Read() = 0;
  virtual void Write(const grpc::ByteBuffer& message) = 0;
  // Ends it, at both ends.
  virtual void Cancel() = 0;
  // The same where nothing is under way, and the peer is told why if this is the end that was called.
  virtual void Refuse(const absl::Status& status) = 0;
};

}  // namespace weir
