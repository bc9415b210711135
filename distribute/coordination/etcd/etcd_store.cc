#include "distribute/coordination/etcd/etcd_store.h"

#include <chrono>
#include <utility>

#include "distribute/coordination/etcd/etcd_lease.h"
#include "distribute/coordination/etcd/etcd_messages.h"
#include "distribute/coordination/etcd/etcd_watch.h"

namespace weir::coordination {

absl::StatusOr<std::unique_ptr<EtcdStore>> EtcdStore::Create(EtcdOptions options) {
  ASSIGN_OR_RETURN(std::unique_ptr<EtcdClient> client, EtcdClient::Create(std::move(options)));
  return std::unique_ptr<EtcdStore>(new EtcdStore(std::move(client)));
}

absl::StatusOr<TransactionResult> EtcdStore::Commit(const CallOptions& options, const Transaction& transaction) {
  RETURN_IF_ERROR(CheckTransaction(transaction));
  const etcdserverpb::TxnRequest request = ToEtcd(transaction);
  const int64_t seen = client_->seen_revision();
  etcdserverpb::TxnResponse response;
  RETURN_IF_ERROR(client_->Call("Transaction", options, transaction.repeatable || OnlyReads(transaction),
                                [&](const EtcdClient::Member& member, grpc::ClientContext* context) {
                                  return member.kv->Txn(context, request, &response);
                                }));
  RETURN_IF_ERROR(client_->CheckHeader(response.header(), seen));
  return FromEtcd(transaction, std::move(response));
}

absl::StatusOr<std::unique_ptr<Watch>> EtcdStore::NewWatch(Keys keys, int64_t from) {
  RETURN_IF_ERROR(CheckWatch(keys, from));
  return std::make_unique<EtcdWatch>(client_.get(), std::move(keys), from);
}

absl::StatusOr<std::unique_ptr<Lease>> EtcdStore::GrantLease(const CallOptions& options, absl::Duration ttl) {
  ASSIGN_OR_RETURN(const int64_t seconds, CheckedSeconds(ttl));
  etcdserverpb::LeaseGrantRequest request;
  request.set_ttl(seconds);
  etcdserverpb::LeaseGrantResponse response;
  std::chrono::steady_clock::time_point asked;
  // A lease whose answer is lost expires by itself.
  RETURN_IF_ERROR(client_->Call("Grant of a lease", options, /*repeatable=*/true,
                                [&](const EtcdClient::Member& member, grpc::ClientContext* context) {
                                  asked = std::chrono::steady_clock::now();
                                  return member.lease->LeaseGrant(context, request, &response);
                                }));
  if (!response.error().empty() || response.id() <= 0 || response.ttl() < 1 || response.ttl() > 2 * seconds + 3600) {
    return client_->Describe("Grant of a lease",
                             errors::Internal("the server gave lease ", response.id(), " for ", response.ttl(),
                                              " s: ", response.error().substr(0, 512)));
  }
  return std::make_unique<EtcdLease>(client_.get(), response.id(), absl::Seconds(response.ttl()), asked);
}

absl::Status EtcdStore::RevokeLease(const CallOptions& options, LeaseId id) {
  etcdserverpb::LeaseRevokeRequest request;
  request.set_id(id);
  etcdserverpb::LeaseRevokeResponse response;
  const absl::Status status = client_->Call("Revocation of a lease", options, /*repeatable=*/true,
                                            [&](const EtcdClient::Member& member, grpc::ClientContext* context) {
                                              return member.lease->LeaseRevoke(context, request, &response);
                                            });
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

absl::Status EtcdStore::Compact(const CallOptions& options, int64_t revision) {
  etcdserverpb::CompactionRequest request;
  request.set_revision(revision);
  etcdserverpb::CompactionResponse response;
  absl::Status status = client_->Call("Compaction", options, /*repeatable=*/true,
                                      [&](const EtcdClient::Member& member, grpc::ClientContext* context) {
                                        return member.kv->Compact(context, request, &response);
                                      });
  // etcd returns the same code for a revision already compacted and for a future one.
  if (!absl::IsOutOfRange(status)) return status;
  const absl::Status behind = client_->CheckRevision(options, std::string(1, '\0'));
  if (!behind.ok()) return behind;
  return revision <= client_->seen_revision() ? absl::OkStatus() : status;
}

}  // namespace weir::coordination
