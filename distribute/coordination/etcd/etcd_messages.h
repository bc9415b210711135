// Our requests and results as etcd's messages. What a server sent is checked before it is used.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "distribute/coordination/store.h"
#include "etcd/rpc_service.pb.h"

namespace weir::coordination {

// What a server may say, so that the next one is a number too.
constexpr int64_t kMaxEtcdRevision = std::numeric_limits<int64_t>::max() - 1;

// What etcd calls key and range_end.
std::string EtcdRangeStart(const Keys& keys);
std::string EtcdRangeEnd(const Keys& keys);

etcdserverpb::TxnRequest ToEtcd(const Transaction& transaction);
// INTERNAL when it is no answer to `transaction`.
absl::StatusOr<TransactionResult> FromEtcd(const Transaction& transaction, etcdserverpb::TxnResponse response);
// INTERNAL when it is no event of `keys` at `at_least` or later.
absl::StatusOr<Event> FromEtcd(const Keys& keys, int64_t at_least, etcdserverpb::Event event);

}  // namespace weir::coordination
