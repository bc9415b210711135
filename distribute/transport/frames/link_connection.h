// How a task that asks another comes to a link with it, and to another when that breaks.
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

// Asks the task for a link when one is first wanted, and again, after a pause, when it broke; meanwhile there is none.
// A task that refuses one kind of link, or does not know of it, is asked for the next kind; one that refuses all is not
// asked again. What it has come to is logged once. Thread-safe. `Requests` is BufferRequests or CallRequests.
template <typename Requests>
class LinkConnection {
 public:
  // `task`: that is asked. The openers, the best first, outlive it; none: there are no links.
  LinkConnection(std::string task, std::vector<LinkOpener*> openers);
  ~LinkConnection();

  // Null where there is none, and calls over gRPC do it.
  std::shared_ptr<Requests> Current();

 private:
  enum class State { kIdle, kAsking, kOpen, kRefused };

  void Ask(size_t opener);
  void Answered(size_t opener, const absl::StatusOr<std::shared_ptr<FrameLink>>& link,
                std::shared_ptr<Requests> requests);

  const std::string task_;
  const std::vector<LinkOpener*> openers_;
  Mutex mu_;
  State state_ GUARDED_BY(mu_);
  size_t opener_ GUARDED_BY(mu_) = 0;  // those before it were refused
  absl::Time not_before_ GUARDED_BY(mu_);
  std::shared_ptr<FrameLink> link_ GUARDED_BY(mu_);
  std::shared_ptr<Requests> requests_ GUARDED_BY(mu_);
};

extern template class LinkConnection<BufferRequests>;
extern template class LinkConnection<CallRequests>;

}  // namespace weir
