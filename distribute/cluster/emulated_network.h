// Machines on one kernel: network namespaces around a router, whose links can be cut and slowed down. For tests and
// benchmarks.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/status.h"
#include "distribute/cluster/process_cluster.h"

namespace weir {

// Hosts 0 … count - 1, each in a namespace of its own, behind a router in another one. The namespaces have no names and
// end with this process. Not thread-safe.
class EmulatedNetwork {
 public:
  // Moves the calling thread, and those that it starts from now on, to host 0. FailedPrecondition, with the reason,
  // where the system does not allow it: it takes root and the program ip.
  static absl::StatusOr<std::unique_ptr<EmulatedNetwork>> Create(int count);
  ~EmulatedNetwork();
  EmulatedNetwork(const EmulatedNetwork&) = delete;

  std::string address(int host) const;
  // Of a task on the host.
  ProcessCluster::Place PlaceOf(int host) const;
  // From now on packets from one host to the other vanish; kAny: those from, or to, every other host. Neither side
  // gets an error.
  static constexpr int kAny = -1;
  absl::Status Cut(int from, int to);
  // Undoes every Cut.
  absl::Status Heal();
  // From now on the host's link carries so much in each direction. Takes the program tc. Called once for a host.
  absl::Status Limit(int host, int64_t bits_per_second);

 private:
  EmulatedNetwork() = default;
  absl::Status AddHost(int host);
  absl::Status InRouter(const std::string& arguments);

  pid_t router_ = -1;
  std::vector<pid_t> hosts_;       // processes that do nothing but keep the namespaces
  std::vector<std::string> cuts_;  // rules of the router
};

// The command `enter PID -- PROGRAM…`: replaces this process by the program, in the network namespace of PID. Returns
// only on an error.
absl::Status EnterNamespaceAndRun(pid_t pid, const std::vector<std::string>& arguments);

}  // namespace weir
