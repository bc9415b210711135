// Converts requests and results to and from etcd's messages, and checks what a server sends.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "distribute/coordination/store.h"
#include "etcd/rpc_service.pb.h"

namespace weir::coordination {

// The largest accepted revision, so that the next one does not overflow.
constexpr int64_t kMaxEtcdRevision = std::numeric_limits<int64_t>::max() - 1;

// etcd's key and range_end.
std::string EtcdRangeStart(const Keys& keys);
std::string EtcdRangeEnd(const Keys& keys);

etcdserverpb::TxnRequest ToEtcd(const Transaction& transaction);
// INTERNAL if it does not answer `transaction`.
absl::StatusOr<TransactionResult> FromEtcd(const Transaction& transaction, etcdserverpb::TxnResponse response);
// INTERNAL if it is not an event of `keys` at `at_least` or later.
absl::StatusOr<Event> FromEtcd(const Keys& keys, int64_t at_least, etcdserverpb::Event event);

}  // namespace weir::coordination
