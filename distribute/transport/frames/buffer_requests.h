// Requests buffers over a link: RecvBuf without calls.
#pragma once

#include "distribute/transport/frames/pending_requests.h"
#include "weir/transport.pb.h"

namespace weir {

struct PendingBuffer {
  int64_t num_bytes = 0;
  WorkerInterface::ResultCallback<ReceivedBytes> done;
  CancellationManager* cancellation = nullptr;
  CancellationManager::Token token = CancellationManager::kInvalidToken;
};

// The sender pushes each buffer on the channel of its request as soon as the buffer is ready. Requests bound the bytes
// in flight.
class BufferRequests : public PendingRequests<PendingBuffer, ReceivedBytes> {
 public:
  static constexpr LinkUse kUse = LinkUse::BUFFERS;
  using Callback = WorkerInterface::ResultCallback<ReceivedBytes>;

  using PendingRequests::PendingRequests;

  // As WorkerInterface::RecvBufAsync. Returns false, and `done` does not run, if the caller should use RecvBuf instead:
  // the link is broken or full, or the buffer is too large for a frame.
  bool Begin(const CallOptions& options, const RecvBufArgs& args, const Callback& done);

  void OnFrame(const FrameHead& head, ReceivedBytes bytes) override;

 private:
  void Finish(PendingBuffer pending, absl::StatusOr<ReceivedBytes> result) override;
};

}  // namespace weir
