// A watch of etcd keys that survives lost connections and members.
#pragma once

#include <condition_variable>
#include <deque>
#include <thread>
#include <vector>

#include "core/mutex.h"
#include "core/threads/cancellation.h"
#include "distribute/coordination/etcd/etcd_client.h"
#include "distribute/coordination/store.h"

namespace weir::coordination {

// Its own thread reads events, and resumes from the first incomplete revision when a stream ends. It waits while too
// many events are buffered. `client` outlives this object.
class EtcdWatch : public Watch {
 public:
  EtcdWatch(EtcdClient* client, Keys keys, int64_t from);
  ~EtcdWatch() override;

  absl::StatusOr<std::vector<Event>> Next(const CallOptions& options) override;

 private:
  void Read();
  // Runs until the stream ends. OK: a new stream may succeed.
  absl::Status ReadStream();
  absl::Status Take(etcdserverpb::WatchResponse response);
  // Delivers complete revisions: all but the last one of an answer that continues.
  absl::Status Deliver(bool more_follows);
  void NoteTrouble(absl::Status status);

  EtcdClient* const client_;
  const Keys keys_;
  CancellationManager stop_;

  // The thread's own.
  int64_t next_;                // earlier events are delivered
  std::vector<Event> partial_;  // events of next_ and later, not delivered
  EtcdBackoff backoff_;

  Mutex mu_;
  std::condition_variable changed_;
  std::deque<std::vector<Event>> ready_ GUARDED_BY(mu_);
  int64_t ready_bytes_ GUARDED_BY(mu_) = 0;
  absl::Status end_ GUARDED_BY(mu_);      // not OK: reported after the buffered events
  absl::Status trouble_ GUARDED_BY(mu_);  // why no events arrive, if known
  std::thread thread_;
};

}  // namespace weir::coordination
