// A watch of keys in etcd that outlives connections and members.
#pragma once

#include <condition_variable>
#include <deque>
#include <thread>
#include <vector>

#include "core/cancellation.h"
#include "core/mutex.h"
#include "distribute/coordination/etcd/etcd_client.h"
#include "distribute/coordination/store.h"

namespace weir::coordination {

// A thread of its own reads events, and asks again from the first revision that is not complete when the stream ends.
// It waits when the events that nobody took are many. `client` outlives this object.
class EtcdWatch : public Watch {
 public:
  EtcdWatch(EtcdClient* client, Keys keys, int64_t from);
  ~EtcdWatch() override;

  absl::StatusOr<std::vector<Event>> Next(const CallOptions& options) override;

 private:
  void Read();
  // Until the stream ends; OK: it ended in a way that another one may mend.
  absl::Status ReadStream();
  absl::Status Take(etcdserverpb::WatchResponse response);
  // Hands over what is complete: all before the last revision of an answer that goes on.
  absl::Status Deliver(bool more_follows);
  void NoteTrouble(absl::Status status);

  EtcdClient* const client_;
  const Keys keys_;
  CancellationManager stop_;

  // The thread's own.
  int64_t next_;                // everything before is delivered
  std::vector<Event> partial_;  // events of next_ and later, not delivered
  EtcdBackoff backoff_;

  Mutex mu_;
  std::condition_variable changed_;
  std::deque<std::vector<Event>> ready_ GUARDED_BY(mu_);
  int64_t ready_bytes_ GUARDED_BY(mu_) = 0;
  absl::Status end_ GUARDED_BY(mu_);      // not OK: after what is ready comes nothing but this
  absl::Status trouble_ GUARDED_BY(mu_);  // why nothing comes, where that is known
  std::thread thread_;
};

}  // namespace weir::coordination
