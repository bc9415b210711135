// How to reach an etcd cluster.
#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"

namespace weir::coordination {

struct EtcdOptions {
  // "host:port" of members; any of them will do, the others are for when it does not answer.
  std::vector<std::string> endpoints;
  // Allow endpoints beyond the loopback: calls are neither encrypted nor authenticated.
  bool insecure = false;
  absl::Duration default_timeout = absl::Seconds(10);  // of calls without deadline
  absl::Duration max_backoff = absl::Seconds(1);       // between attempts
  // A member that answers no ping is given up. etcd refuses pings more often than every 5 s by default.
  absl::Duration ping_interval = absl::Seconds(6);
  absl::Duration ping_timeout = absl::Seconds(3);
  // Larger answers are RESOURCE_EXHAUSTED. etcd splits those of watches at 1.5 MiB by default.
  int max_answer_bytes = 16 << 20;
  // Events that a watch holds ready for Next, about; beyond it etcd has to wait.
  int64_t max_waiting_event_bytes = 4 << 20;
};

}  // namespace weir::coordination
