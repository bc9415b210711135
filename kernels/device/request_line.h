// Requests that wait until the object they are for is in the state that they need: takers of an accumulator, of a
// staging area, of a mutex.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "core/mutex.h"
#include "core/status.h"
#include "core/threads/cancellation.h"

namespace weir {

// Thread-safe. Nothing blocks: a request that has to wait is kept. Its callback runs once, with no lock held, on the
// thread that makes it possible or cancels it. The line's mutex guards the object's state, which attempts change.
class RequestLine : public std::enable_shared_from_this<RequestLine> {
 public:
  using DoneCallback = std::function<void(absl::Status)>;
  // Runs with the mutex held. False: not yet, and nothing has changed. True: served, or failed with *status.
  using Attempt = std::function<bool(absl::Status* status)>;

  // kStrict: a request that has to wait holds up those behind it.
  enum class Discipline { kStrict, kWhoeverCan };

  explicit RequestLine(Discipline discipline) : discipline_(discipline) {}

  Mutex& mutex() { return mu_; }
  // The attempt keeps the object alive. `what` names the request where it is cancelled: "TakeGrad operation".
  void Submit(CancellationManager* cancellation, std::string what, Attempt attempt, DoneCallback done);
  // To be called after a change of the object's state that no attempt made.
  void Advance();

 private:
  struct Request {
    int64_t id = 0;
    std::string what;
    CancellationManager* cancellation = nullptr;
    CancellationManager::Token token = CancellationManager::kInvalidToken;
    Attempt attempt;
    DoneCallback done;
    absl::Status status;
  };
  using Requests = std::list<Request>;

  void Cancel(int64_t id);
  void Serve(Requests* finished) REQUIRES(mu_);
  static void Finish(Requests finished);

  const Discipline discipline_;
  Mutex mu_;
  Requests requests_ GUARDED_BY(mu_);
  int64_t next_id_ GUARDED_BY(mu_) = 0;
};

}  // namespace weir
