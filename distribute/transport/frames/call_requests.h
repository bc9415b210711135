// Calls over a link: the caller's end.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <grpcpp/support/byte_buffer.h>

#include "absl/container/flat_hash_map.h"
#include "core/mutex.h"
#include "distribute/transport/frames/frame_link.h"
#include "distribute/transport/frames/link_methods.h"
#include "distribute/transport/worker_interface.h"
#include "weir/transport.pb.h"

namespace weir {

// Each call has a channel, a number of its own, under which its answer comes, in one frame or in parts. Thread-safe.
// Once the link is broken, pending calls end with its status, and no others begin.
class CallRequests : public FrameLink::Receiver, public std::enable_shared_from_this<CallRequests> {
 public:
  static constexpr LinkUse kUse = LinkUse::CALLS;
  using Callback = std::function<void(absl::StatusOr<grpc::ByteBuffer>)>;

  // `task`: who answers.
  CallRequests(std::string task, std::shared_ptr<FrameLink> link);

  // As GrpcChannel::CallAsync; a call that is late ends within a fraction of a second. False, and `done` does not run,
  // where it had better go over gRPC: the link is broken, the request too large for a frame, or too many wait already.
  bool Begin(const LinkMethod& method, const CallOptions& options, const grpc::ByteBuffer& request,
             const Callback& done);
  bool is_open() const;

  void OnFrame(const FrameHead& head, ReceivedBytes bytes) override;
  void OnBroken(const absl::Status& status) override;
  void OnTick(absl::Time now) override;

 private:
  struct Pending {
    Callback done;
    const char* method = nullptr;
    absl::Time deadline = absl::InfiniteFuture();
    CancellationManager* cancellation = nullptr;
    CancellationManager::Token token = CancellationManager::kInvalidToken;
    std::vector<grpc::Slice> parts;  // of the answer, so far
    size_t part_bytes = 0;           // with what it takes to keep them
  };

  // Whatever ends a call takes it first.
  bool Take(uint32_t channel, Pending* pending);
  bool IsPending(uint32_t channel) const;
  void AddPart(uint32_t channel, grpc::Slice part);
  void Cancel(uint32_t channel);
  void End(Pending pending, absl::StatusOr<grpc::ByteBuffer> result);
  void Violated(absl::string_view what);

  const std::string task_;
  const std::shared_ptr<FrameLink> link_;
  std::atomic<uint32_t> next_channel_{1};
  mutable Mutex mu_;
  bool is_open_ GUARDED_BY(mu_) = true;
  absl::flat_hash_map<uint32_t, Pending> pending_ GUARDED_BY(mu_);  // by channel
};

}  // namespace weir
