// How a task that asks another for buffers comes to a link with it.
#pragma once

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "core/mutex.h"
#include "distribute/transport/frames/buffer_requests.h"
#include "distribute/transport/grpc_channel.h"
#include "distribute/transport/shared_memory/link_poller.h"

namespace weir {

// Asks the task for a link when one is first wanted, and again, after a pause, when it broke; meanwhile there is none.
// A task that refuses, or does not know of links, is not asked again: that is logged once. Thread-safe.
class RingConnection {
 public:
  // `channel` and `poller` outlive it; no poller: there are no links.
  RingConnection(GrpcChannel* channel, LinkPoller* poller);
  ~RingConnection();

  // Null where buffers are to come by calls.
  std::shared_ptr<BufferRequests> Current();

 private:
  enum class State { kIdle, kAsking, kOpen, kRefused };
  struct Asked;

  void Ask();
  absl::Status Open(Asked& asked, const absl::StatusOr<grpc::ByteBuffer>& reply);
  void Answered(const absl::Status& status, std::shared_ptr<FrameLink> link, std::shared_ptr<BufferRequests> requests);

  GrpcChannel* const channel_;
  LinkPoller* const poller_;
  Mutex mu_;
  State state_ GUARDED_BY(mu_);
  absl::Time not_before_ GUARDED_BY(mu_);
  std::shared_ptr<FrameLink> link_ GUARDED_BY(mu_);
  std::shared_ptr<BufferRequests> requests_ GUARDED_BY(mu_);
};

}  // namespace weir
