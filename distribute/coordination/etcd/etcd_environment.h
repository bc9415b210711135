// How to reach etcd, from the environment.
#pragma once

#include "core/status.h"
#include "distribute/cluster/environment.h"
#include "distribute/coordination/etcd/etcd_options.h"

namespace weir::coordination {

// Reads what etcdctl reads: ETCDCTL_ENDPOINTS (127.0.0.1:2379 without it; http:// and https:// may stand before them),
// ETCDCTL_CACERT, ETCDCTL_CERT, ETCDCTL_KEY, ETCDCTL_USER ("name" or "name:password") and ETCDCTL_PASSWORD. TLS is
// spoken with https://, or where the CA's or a client's certificate is given. INVALID_ARGUMENT names a variable that
// cannot be meant.
absl::StatusOr<EtcdOptions> EtcdOptionsFromEnvironment(const Environment& environment);

}  // namespace weir::coordination
