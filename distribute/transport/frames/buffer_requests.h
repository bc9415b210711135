// RecvBuf without calls: the receiver's end.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "core/mutex.h"
#include "distribute/transport/frames/frame_link.h"
#include "distribute/transport/worker_interface.h"
#include "weir/transport.pb.h"

namespace weir {

// Asks for each buffer under a channel, a number of its own; the sender pushes it there as soon as it has it. So what
// is on its way is bounded by what this end has asked for. Thread-safe. Once the link is broken, pending requests end
// with its status, and no others begin.
class BufferRequests : public FrameLink::Receiver, public std::enable_shared_from_this<BufferRequests> {
 public:
  static constexpr LinkUse kUse = LinkUse::BUFFERS;
  using Callback = WorkerInterface::ResultCallback<ReceivedBytes>;

  // `task`: who answers.
  BufferRequests(std::string task, std::shared_ptr<FrameLink> link);

  // As WorkerInterface::RecvBufAsync. False, and `done` does not run, where the buffer had better come by a call: the
  // link is broken, the buffer too large for a frame, or too much is asked for already.
  bool Begin(const CallOptions& options, const RecvBufArgs& args, const Callback& done);
  bool is_open() const;

  void OnFrame(const FrameHead& head, ReceivedBytes bytes) override;
  void OnBroken(const absl::Status& status) override;

 private:
  struct Pending {
    int64_t num_bytes = 0;
    Callback done;
    CancellationManager* cancellation = nullptr;
    CancellationManager::Token token = CancellationManager::kInvalidToken;
  };

  // Whatever ends a request takes it first.
  bool Take(uint32_t channel, Pending* pending);
  bool IsPending(uint32_t channel) const;
  void Cancel(uint32_t channel);
  static void End(Pending pending, absl::StatusOr<ReceivedBytes> result);

  const std::string task_;
  const std::shared_ptr<FrameLink> link_;
  std::atomic<uint32_t> next_channel_{1};
  mutable Mutex mu_;
  bool is_open_ GUARDED_BY(mu_) = true;
  absl::flat_hash_map<uint32_t, Pending> pending_ GUARDED_BY(mu_);  // by channel
};

}  // namespace weir
