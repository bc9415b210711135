#include "kernels/device/request_line.h"

#include <algorithm>

namespace weir {

// The callback of a cancellation may run at any time from its registration on; it waits for the mutex, and then finds
// the request in its place.
void RequestLine::Submit(CancellationManager* cancellation, std::string what, Attempt attempt, DoneCallback done) {
  Requests finished;
  {
    MutexLock lock(mu_);
    Request request;
    request.id = next_id_++;
    request.what = std::move(what);
    request.cancellation = cancellation;
    request.attempt = std::move(attempt);
    request.done = std::move(done);
    bool cancelled = false;
    if (cancellation != nullptr) {
      request.token = cancellation->Register([line = weak_from_this(), id = request.id] {
        if (auto alive = line.lock()) alive->Cancel(id);
      });
      cancelled = request.token == CancellationManager::kInvalidToken;
    }
    if (cancelled) {
      request.status = errors::Cancelled(request.what, " was cancelled");
      finished.push_back(std::move(request));
    } else {
      requests_.push_back(std::move(request));
      Serve(&finished);
    }
  }
  Finish(std::move(finished));
}

void RequestLine::Advance() {
  Requests finished;
  {
    MutexLock lock(mu_);
    Serve(&finished);
  }
  Finish(std::move(finished));
}

void RequestLine::Cancel(int64_t id) {
  Requests finished;
  {
    MutexLock lock(mu_);
    auto found = std::find_if(requests_.begin(), requests_.end(), [id](const Request& r) { return r.id == id; });
    if (found == requests_.end()) return;
    found->token = CancellationManager::kInvalidToken;
    found->status = errors::Cancelled(found->what, " was cancelled");
    finished.splice(finished.end(), requests_, found);
    Serve(&finished);  // those it held up
  }
  Finish(std::move(finished));
}

void RequestLine::Serve(Requests* finished) {
  for (bool progress = true; progress;) {
    progress = false;
    for (auto it = requests_.begin(); it != requests_.end();) {
      auto request = it++;
      if (request->attempt(&request->status)) {
        finished->splice(finished->end(), requests_, request);
        progress = true;
      } else if (discipline_ == Discipline::kStrict) {
        break;
      }
    }
  }
}

void RequestLine::Finish(Requests finished) {
  for (Request& request : finished) {
    // Not waiting: the callback finds no request of that id and does nothing.
    if (request.token != CancellationManager::kInvalidToken) request.cancellation->TryDeregister(request.token);
    request.attempt = nullptr;
    request.done(std::move(request.status));
  }
}

}  // namespace weir
