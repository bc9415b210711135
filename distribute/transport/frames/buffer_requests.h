// RecvBuf without calls: the receiver's end.
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

// The sender pushes each buffer under the channel of its request as soon as it has it. So what is on its way is bounded
// by what this end has asked for.
class BufferRequests : public PendingRequests<PendingBuffer, ReceivedBytes> {
 public:
  static constexpr LinkUse kUse = LinkUse::BUFFERS;
  using Callback = WorkerInterface::ResultCallback<ReceivedBytes>;

  using PendingRequests::PendingRequests;

  // As WorkerInterface::RecvBufAsync. False, and `done` does not run, where the buffer had better come by a call: the
  // link is broken, the buffer too large for a frame, or too much is asked for already.
  bool Begin(const CallOptions& options, const RecvBufArgs& args, const Callback& done);

  void OnFrame(const FrameHead& head, ReceivedBytes bytes) override;

 private:
  void Finish(PendingBuffer pending, absl::StatusOr<ReceivedBytes> result) override;
};

}  // namespace weir
