// How to reach an etcd cluster.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace weir::coordination {

// Files of PEM.
struct EtcdTls {
  std::string ca_file;                     // whose certificates are believed; empty: those that this machine trusts
  std::string certificate_file, key_file;  // ours, where etcd asks for one: both or none
  std::string server_name;                 // that etcd's certificate is for; empty: the endpoint's host
};

struct EtcdOptions {
  // "host:port" of members; any of them will do, the others are for when it does not answer.
  std::vector<std::string> endpoints;
  std::optional<EtcdTls> tls;
  // Allow endpoints beyond the loopback without TLS.
  bool insecure = false;
  // Whose calls these are, where etcd knows users; empty: nobody's.
  std::string user, password;
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
