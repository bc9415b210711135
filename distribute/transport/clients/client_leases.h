// The sessions of remote clients, and when they end because their client is gone.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/time/time.h"
#include "core/mutex.h"
#include "core/status.h"

namespace weir {

// A pure state machine. A session's lease runs out when, for the time of the lease, none of its calls has run and no
// connection on which it was used has been open. Not thread-safe.
class LeaseTable {
 public:
  explicit LeaseTable(absl::Duration lease) : lease_(lease) {}

  // Also extends the lease of a known session.
  void Add(const std::string& session, absl::string_view connection, absl::Time now);
  void Remove(const std::string& session) { sessions_.erase(session); }
  bool Has(const std::string& session) const { return sessions_.contains(session); }
  // ABORTED if the session has ended because its lease ran out. No effect if it was not added; otherwise EndCall
  // must follow.
  absl::Status BeginCall(const std::string& session, absl::string_view connection, absl::Time now);
  void EndCall(const std::string& session, absl::Time now);
  struct Expired {
    std::vector<std::string> sessions;
    // Sessions whose client has been gone for kPatience, once: what runs for it without a call is to end.
    std::vector<std::string> disconnected;
  };
  static constexpr absl::Duration kPatience = absl::Minutes(1);
  // Removes the sessions whose lease has run out and returns them.
  Expired Expire(absl::Time now, const std::function<bool(absl::string_view connection)>& is_open);

 private:
  static constexpr size_t kRemembered = 1024;
  struct Session {
    absl::flat_hash_set<std::string> connections;
    int calls = 0;
    absl::Time last_seen;
    bool is_disconnected = false;
  };

  absl::Duration lease_;
  absl::flat_hash_map<std::string, Session> sessions_;
  std::deque<std::string> expired_;  // the last ones, for error messages
};

// Ends sessions whose clients are gone. Thread-safe. Owns a thread from Start to Stop.
class ClientLeases {
 public:
  explicit ClientLeases(absl::Duration lease) : lease_(lease), table_(lease) {}
  ~ClientLeases() { Stop(); }
  ClientLeases(const ClientLeases&) = delete;

  void Add(const std::string& session, absl::string_view connection);
  void Remove(const std::string& session);

  // A call of a session, while it runs.
  class Call {
   public:
    Call(ClientLeases* leases, std::string session, std::string connection);
    ~Call();
    Call(const Call&) = delete;
    // ABORTED: the session has ended.
    const absl::Status& status() const { return status_; }
    // Adds a session that was not known, such as one from before a restart.
    void Succeeded();

   private:
    ClientLeases* const leases_;
    const std::string session_, connection_;
    absl::Status status_;
    bool is_known_ = false;
  };

  struct Handlers {
    std::function<bool(absl::string_view connection)> is_open;
    // Both may block.
    std::function<void(const std::string& session)> end;
    std::function<void(const std::string& session)> disconnected;  // see LeaseTable::Expired
  };
  // Checks leases from now on.
  absl::Status Start(Handlers handlers);
  // Waits for `end` if it runs. Later calls do nothing.
  void Stop();

 private:
  void Run();
  // False: stop.
  bool AwaitNextCheck(absl::Duration interval, LeaseTable::Expired* expired);

  const absl::Duration lease_;
  Handlers handlers_;
  Mutex mu_;
  std::condition_variable stop_;
  bool stopping_ GUARDED_BY(mu_) = false;
  LeaseTable table_ GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace weir
