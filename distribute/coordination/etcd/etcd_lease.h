// An etcd lease, kept alive.
#pragma once

#include <chrono>
#include <condition_variable>
#include <thread>

#include "core/threads/cancellation.h"
#include "distribute/coordination/etcd/etcd_client.h"
#include "distribute/coordination/store.h"

namespace weir::coordination {

// Its own thread renews the lease three times per time to live. The lease counts as lost once no renewal sent within
// its time to live was answered: etcd ends it then at the earliest. `client` outlives this object.
class EtcdLease : public Lease {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `granted` is the time of the request.
  EtcdLease(EtcdClient* client, LeaseId id, absl::Duration ttl, Time granted);
  ~EtcdLease() override;

  LeaseId id() const override { return id_; }
  absl::Duration ttl() const override { return ttl_; }
  CancellationManager& lost() override { return lost_; }

 private:
  struct Renewal {
    absl::Status status;
    bool is_gone = false;  // as reported by the server
  };

  void Keep();
  Renewal Renew(absl::Duration patience);

  EtcdClient* const client_;
  const LeaseId id_;
  const absl::Duration ttl_;
  CancellationManager lost_;
  CancellationManager stop_;
  Time expiry_;  // used by the thread only
  std::thread thread_;
};

}  // namespace weir::coordination
