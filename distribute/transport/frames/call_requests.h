// Makes calls over a link.
#pragma once

#include <functional>
#include <vector>

#include <grpcpp/support/byte_buffer.h>

#include "distribute/transport/frames/link_methods.h"
#include "distribute/transport/frames/pending_requests.h"
#include "weir/transport.pb.h"

namespace weir {

struct PendingCall {
  std::function<void(absl::StatusOr<grpc::ByteBuffer>)> done;
  const char* method = nullptr;
  absl::Time deadline = absl::InfiniteFuture();
  CancellationManager* cancellation = nullptr;
  CancellationManager::Token token = CancellationManager::kInvalidToken;
  std::vector<grpc::Slice> parts;  // of the answer, received so far
  size_t part_bytes = 0;           // including their overhead
};

// An answer arrives in one frame or in several parts.
class CallRequests : public PendingRequests<PendingCall, grpc::ByteBuffer> {
 public:
  static constexpr LinkUse kUse = LinkUse::CALLS;
  using Callback = std::function<void(absl::StatusOr<grpc::ByteBuffer>)>;

  using PendingRequests::PendingRequests;

  // As GrpcChannel::CallAsync; the deadline is enforced within a fraction of a second. Returns false, and `done` does
  // not run, if the caller should use gRPC instead: the link is broken, the request is too large for a frame, or too
  // many calls are pending.
  bool Begin(const LinkMethod& method, const CallOptions& options, const grpc::ByteBuffer& request,
             const Callback& done);

  void OnFrame(const FrameHead& head, ReceivedBytes bytes) override;
  void OnTick(absl::Time now) override;

 private:
  void Finish(PendingCall pending, absl::StatusOr<grpc::ByteBuffer> result) override;
  void AddPart(uint32_t channel, grpc::Slice part);
  void Violated(absl::string_view what);
};

}  // namespace weir
