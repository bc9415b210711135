// Messages both ways over one long-lived call.
#pragma once

#include <cstdint>
#include <memory>

#include <grpcpp/support/byte_buffer.h>

#include "core/status.h"

namespace weir {

// One end of a stream. Messages arrive in the order in which they were written.
// - Thread-safe, but at most one Read and one Write may be pending at a time. Never blocks.
// - The transport keeps it alive from Start until it ends.
class MessageStream {
 public:
  // Called with no lock held, on any thread.
  class Listener {
   public:
    virtual ~Listener() = default;
    // Called once, first: messages can be read and written.
    virtual void OnReady() = 0;
    // Completes a Read. The next message needs another Read.
    virtual void OnMessage(const grpc::ByteBuffer& message) = 0;
    // Completes a Write: another may follow.
    virtual void OnWritten() = 0;
    // Called once; never OK. Only an OnMessage or OnWritten that already runs may end later. The stream then releases
    // the listener.
    virtual void OnEnd(const absl::Status& status) = 0;
  };

  virtual ~MessageStream() = default;
  // Called once, unless Reject is called instead.
  virtual void Start(std::shared_ptr<Listener> listener) = 0;
  // No effect once the stream is ending.
  virtual void Read() = 0;
  virtual void Write(const grpc::ByteBuffer& message) = 0;
  // The bytes that the peer has sent over its connections with this process, those of incomplete messages included; 0:
  // unknown. Costs a system call for each open file.
  virtual uint64_t BytesFromPeer() const = 0;
  // Ends both ends.
  virtual void Cancel() = 0;
  // As Cancel, for a stream with no pending operation. The called end sends `status` to the peer.
  virtual void Reject(const absl::Status& status) = 0;
};

}  // namespace weir
