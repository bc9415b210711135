// Maps ranks of a parallel job to tasks of a cluster.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/status.h"
#include "distribute/cluster/environment.h"
#include "distribute/cluster/tf_config.h"

namespace weir {

inline constexpr int kMaxPort = 65535;

// The hosts of a job's ranks, which fill one host after the other.
struct RankLayout {
  std::vector<std::string> hosts;
  std::vector<int> tasks_per_host;  // one entry per host
  int first_port = 0;               // a host's other tasks use the following ports

  int64_t Size() const;
  // A rank's host and its index on that host.
  struct Place {
    int host;
    int local;
  };
  Place PlaceOf(int rank) const;
};

// WEIR_PORT, or `otherwise`.
absl::StatusOr<int> FirstPort(const Environment& environment, int otherwise);

// Maps every rank to a task: of the jobs in WEIR_JOBS, in the order of their names, or workers. `size_from` says in
// messages which variable gives the number of ranks. InvalidArgument if WEIR_JOBS has another number of tasks, or there
// are too few ports.
absl::StatusOr<TfConfig> AssignRanks(const Environment& environment, const RankLayout& layout, int rank,
                                     absl::string_view size_from);

// The same for tasks at these addresses.
absl::StatusOr<TfConfig> AssignAddresses(const Environment& environment, const std::vector<std::string>& addresses,
                                         int rank, absl::string_view size_from);

}  // namespace weir
