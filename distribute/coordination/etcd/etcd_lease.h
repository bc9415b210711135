// A lease in etcd, kept alive.
#pragma once

#include <chrono>
#include <condition_variable>
#include <thread>

#include "core/cancellation.h"
#include "distribute/coordination/etcd/etcd_client.h"
#include "distribute/coordination/store.h"

namespace weir::coordination {

// A thread of its own renews the lease each third of its time. The lease counts as lost when no renewal sent within its
// time to live was answered: etcd may have ended it then, and does so later at the earliest. `client` outlives this
// object.
class EtcdLease : public Lease {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `granted` is when the lease was asked for.
  EtcdLease(EtcdClient* client, LeaseId id, absl::Duration ttl, Time granted);
  ~EtcdLease() override;

  LeaseId id() const override { return id_; }
  absl::Duration ttl() const override { return ttl_; }
  CancellationManager& lost() override { return lost_; }

 private:
  struct Renewal {
    absl::Status status;
    bool is_gone = false;  // the server says so
  };

  void Keep();
  Renewal Renew(absl::Duration patience);

  EtcdClient* const client_;
  const LeaseId id_;
  const absl::Duration ttl_;
  CancellationManager lost_;
  CancellationManager stop_;
  Time expiry_;  // the thread's own
  std::thread thread_;
};

}  // namespace weir::coordination
