// Ranks of a parallel job as tasks of a cluster.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/status.h"
#include "distribute/cluster/environment.h"
#include "distribute/cluster/tf_config.h"

namespace weir {

// Where a job's ranks run: they fill host after host.
struct RankLayout {
  std::vector<std::string> hosts;
  std::vector<int> tasks_per_host;  // as many as hosts
  int first_port = 0;               // the others of a host take those above it

  int64_t Size() const;
  // A rank of the layout: its host, and which of the host's it is.
  struct Place {
    int host;
    int local;
  };
  Place PlaceOf(int rank) const;
};

// WEIR_PORT, or `otherwise`.
absl::StatusOr<int> FirstPort(const Environment& environment, int otherwise);

// Every rank as a task: of the jobs that WEIR_JOBS gives, in the order of their names, or workers. `size_from` tells in
// messages where the number of ranks comes from. InvalidArgument when WEIR_JOBS asks for another number, or ports do
// not suffice.
absl::StatusOr<TfConfig> AssignRanks(const Environment& environment, const RankLayout& layout, int rank,
                                     absl::string_view size_from);

// Tasks at these addresses likewise.
absl::StatusOr<TfConfig> AssignAddresses(const Environment& environment, const std::vector<std::string>& addresses,
                                         int rank, absl::string_view size_from);

}  // namespace weir
