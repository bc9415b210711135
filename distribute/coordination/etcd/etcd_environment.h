// Reads etcd's address and credentials from the environment.
#pragma once

#include "core/status.h"
#include "distribute/cluster/environment.h"
#include "distribute/coordination/etcd/etcd_options.h"

namespace weir::coordination {

// Reads etcdctl's variables: ETCDCTL_ENDPOINTS (default 127.0.0.1:2379; http:// or https:// may precede an endpoint),
// ETCDCTL_CACERT, ETCDCTL_CERT, ETCDCTL_KEY, ETCDCTL_USER ("name" or "name:password") and ETCDCTL_PASSWORD. Uses TLS
// for https://, or if a CA or client certificate is given. INVALID_ARGUMENT names an invalid variable.
absl::StatusOr<EtcdOptions> EtcdOptionsFromEnvironment(const Environment& environment);

}  // namespace weir::coordination
