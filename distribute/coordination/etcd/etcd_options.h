// Options of the connection to an etcd cluster.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace weir::coordination {

// Paths of PEM files.
struct EtcdTls {
  std::string ca_file;                     // trusted CAs; empty: those that this machine trusts
  std::string certificate_file, key_file;  // the client's, if etcd requires one: both or none
  std::string server_name;                 // the name in etcd's certificate; empty: the endpoint's host
};

struct EtcdOptions {
  // "host:port" of members. Any one is sufficient; the others are used when it fails.
  std::vector<std::string> endpoints;
  std::optional<EtcdTls> tls;
  // Allows endpoints beyond the loopback without TLS.
  bool insecure = false;
  // The user, if etcd has authentication enabled; empty: none.
  std::string user, password;
  absl::Duration default_timeout = absl::Seconds(10);  // of calls without a deadline
  absl::Duration max_backoff = absl::Seconds(1);       // between attempts
  // A member that answers no ping is disconnected. By default etcd rejects pings more frequent than every 5 s.
  absl::Duration ping_interval = absl::Seconds(6);
  absl::Duration ping_timeout = absl::Seconds(3);
  // Larger answers are RESOURCE_EXHAUSTED. By default etcd splits watch answers at 1.5 MiB.
  int max_answer_bytes = 16 << 20;
  // Approximate limit of the events that a watch buffers; beyond it etcd has to wait.
  int64_t max_waiting_event_bytes = 4 << 20;
};

}  // namespace weir::coordination
