// A store in etcd, for clusters.
#pragma once

#include <memory>

#include "distribute/coordination/etcd/etcd_client.h"
#include "distribute/coordination/etcd/etcd_options.h"
#include "distribute/coordination/store.h"

namespace weir::coordination {

// Reads see all earlier writes. Each watch and each lease has its own thread.
class EtcdStore : public Store {
 public:
  // Does not wait for etcd; calls do, until their deadline. INVALID_ARGUMENT for a malformed endpoint;
  // FAILED_PRECONDITION for one that needs TLS.
  static absl::StatusOr<std::unique_ptr<EtcdStore>> Create(EtcdOptions options);

  absl::StatusOr<TransactionResult> Commit(const CallOptions& options, const Transaction& transaction) override;
  absl::StatusOr<std::unique_ptr<Watch>> NewWatch(Keys keys, int64_t from) override;
  absl::StatusOr<std::unique_ptr<Lease>> GrantLease(const CallOptions& options, absl::Duration ttl) override;
  absl::Status RevokeLease(const CallOptions& options, LeaseId id) override;
  absl::Status Compact(const CallOptions& options, int64_t revision) override;

 private:
  explicit EtcdStore(std::unique_ptr<EtcdClient> client) : client_(std::move(client)) {}

  const std::unique_ptr<EtcdClient> client_;
};

}  // namespace weir::coordination
