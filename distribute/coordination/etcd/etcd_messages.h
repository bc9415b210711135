// Our requests and results as etcd's messages. What a server sent is checked before it is used.
#pragma once

#include "distribute/coordination/store.h"
#include "etcd/rpc_service.pb.h"

namespace weir::coordination {

// What etcd calls range_end.
std::string EtcdRangeEnd(const Keys& keys);
std::string EtcdRangeStart(const Keys& keys);

etcdserverpb::TxnRequest ToEtcd(const Transaction& transaction);
// INTERNAL when it is no answer to `transaction`.
absl::StatusOr<TransactionResult> FromEtcd(const Transaction& transaction, etcdserverpb::TxnResponse response);
// INTERNAL when it is no event of `keys` at `at_least` or later.
absl::StatusOr<Event> FromEtcd(const Keys& keys, int64_t at_least, etcdserverpb::Event event);

}  // namespace weir::coordination
