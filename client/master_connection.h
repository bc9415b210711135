// One graph at one master.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "client/scope.h"
#include "client/session.h"
#include "core/mutex.h"
#include "core/status.h"
#include "distribute/transport/lost_graph.h"
#include "distribute/transport/master_interface.h"

namespace weir {

// A master's session with a scope's graph, shared by a client's session and its callables. A master that restarted does
// not know its sessions: the next call then opens a new one with the same graph. Variables on other tasks keep their
// values, as when a worker restarts. Thread-safe; calls block until the master answers.
class MasterConnection {
 public:
  // The session that calls name. Each replacement of a lost session has the next generation.
  struct Opened {
    std::string handle;
    int64_t generation = 0;
  };

  // `keep_alive` is released last.
  MasterConnection(std::shared_ptr<MasterInterface> master, std::shared_ptr<void> keep_alive, const Scope& scope,
                   SessionOptions options);

  // Creates the session.
  absl::Status Open();
  // Sends the nodes added to the scope since the last call.
  absl::Status ExtendIfNeeded();
  // Calls `call(Opened)`. If the master answers that it does not know the session, and so did nothing, calls once more
  // with a new session. Each request needs its own id: the answer to the first is kept under it.
  template <typename Call>
  auto WithSession(const Call& call) -> decltype(call(std::declval<const Opened&>()));
  absl::Status Close();

  MasterInterface* master() const { return master_.get(); }
  const SessionOptions& options() const { return options_; }
  absl::Status scope_status() const { return scope_.status(); }
  // The error with the line of the program that built the node at fault, if it is known.
  absl::Status WithLine(const absl::Status& status) const;
  int64_t NextRequestId() { return next_request_id_.fetch_add(1, std::memory_order_relaxed); }

 private:
  static const absl::Status& StatusOf(const absl::Status& status) { return status; }
  template <typename T>
  static const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
    return result.status();
  }

  Opened Current() const;
  absl::Status Create() REQUIRES(mu_);
  absl::Status Extend() REQUIRES(mu_);
  // Unless another thread has replaced it. Aborted if the client closed the session.
  absl::Status Replace(const Opened& lost);
  absl::Status ReplaceLocked(const Opened& lost) REQUIRES(mu_);

  const std::shared_ptr<void> keep_alive_;
  const std::shared_ptr<MasterInterface> master_;
  const Scope scope_;
  const SessionOptions options_;
  std::atomic<int64_t> next_request_id_;

  Mutex mu_;  // held during the calls that create and extend the session
  std::atomic<int> nodes_sent_{0};
  size_t changes_sent_ GUARDED_BY(mu_) = 0;  // of Graph::changed_ops
  int64_t graph_version_ GUARDED_BY(mu_) = 0;
  bool closed_ GUARDED_BY(mu_) = true;
  mutable Mutex opened_mu_;  // the inner lock
  Opened opened_ GUARDED_BY(opened_mu_);
};

template <typename Call>
auto MasterConnection::WithSession(const Call& call) -> decltype(call(std::declval<const Opened&>())) {
  const Opened opened = Current();
  auto result = call(opened);
  if (!IsSessionLost(StatusOf(result), opened.handle)) return result;
  RETURN_IF_ERROR(Replace(opened));
  return call(Current());
}

}  // namespace weir
