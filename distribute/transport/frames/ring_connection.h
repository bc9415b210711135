// How a task that asks another comes to a link with it.
#pragma once

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "core/mutex.h"
#include "distribute/transport/frames/buffer_requests.h"
#include "distribute/transport/frames/call_requests.h"
#include "distribute/transport/grpc_channel.h"
#include "distribute/transport/shared_memory/link_poller.h"

namespace weir {

// Asks the task for a link when one is first wanted, and again, after a pause, when it broke; meanwhile there is none.
// A task that refuses, or does not know of links of that use, is not asked again: that is logged once. Thread-safe.
// `Requests` is BufferRequests or CallRequests.
template <typename Requests>
class RingConnection {
 public:
  // `channel` and `poller` outlive it; no poller: there are no links.
  RingConnection(GrpcChannel* channel, LinkPoller* poller);
  ~RingConnection();

  // Null where there is none, and calls over gRPC do it.
  std::shared_ptr<Requests> Current();

 private:
  enum class State { kIdle, kAsking, kOpen, kRefused };
  struct Asked;

  void Ask();
  absl::Status Open(Asked& asked, const absl::StatusOr<grpc::ByteBuffer>& reply);
  void Answered(const absl::Status& status, std::shared_ptr<FrameLink> link, std::shared_ptr<Requests> requests);

  GrpcChannel* const channel_;
  LinkPoller* const poller_;
  Mutex mu_;
  State state_ GUARDED_BY(mu_);
  absl::Time not_before_ GUARDED_BY(mu_);
  std::shared_ptr<FrameLink> link_ GUARDED_BY(mu_);
  std::shared_ptr<Requests> requests_ GUARDED_BY(mu_);
};

extern template class RingConnection<BufferRequests>;
extern template class RingConnection<CallRequests>;

}  // namespace weir
