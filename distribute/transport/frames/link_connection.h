// Opens a link to a task, and reopens it after it breaks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "core/mutex.h"
#include "distribute/transport/frames/buffer_requests.h"
#include "distribute/transport/frames/call_requests.h"
#include "distribute/transport/frames/link_opener.h"

namespace weir {

// Opens a link when one is first needed, and again, after a pause, when it breaks. Meanwhile there is none.
// - If a task rejects one kind of link, or does not know it, the next kind is tried; after the last kind it is not
//   asked again. The outcome is logged once.
// - Thread-safe. `Requests` is BufferRequests or CallRequests.
template <typename Requests>
class LinkConnection {
 public:
  // `task` is the peer. `openers`, in order of preference, outlive the connection; none: there are no links.
  LinkConnection(std::string task, std::vector<LinkOpener*> openers);
  ~LinkConnection();

  // Null if there is no link: use gRPC.
  std::shared_ptr<Requests> Current();

 private:
  enum class State { kIdle, kAsking, kOpen, kRejected };

  void Ask(size_t opener);
  void Answered(size_t opener, const absl::StatusOr<std::shared_ptr<FrameLink>>& link,
                std::shared_ptr<Requests> requests);

  const std::string task_;
  const std::vector<LinkOpener*> openers_;
  Mutex mu_;
  State state_ GUARDED_BY(mu_);
  size_t opener_ GUARDED_BY(mu_) = 0;  // those before it were rejected
  absl::Time not_before_ GUARDED_BY(mu_);
  std::shared_ptr<FrameLink> link_ GUARDED_BY(mu_);
  std::shared_ptr<Requests> requests_ GUARDED_BY(mu_);
};

extern template class LinkConnection<BufferRequests>;
extern template class LinkConnection<CallRequests>;

}  // namespace weir
