// Parses Slurm's short forms of host lists and task counts.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/status.h"

namespace weir {

// Longer lists are rejected before they are expanded.
inline constexpr int kMaxClusterTasks = 1 << 16;

// Expands "n[1-3,07],rack[0-1]node[0-1],last" to n1 n2 n3 n07 rack0node0 rack0node1 rack1node0 rack1node1 last, in list
// order, with numbers as wide as the first of their range. InvalidArgument, which quotes `variable` and the wrong part,
// for a malformed list, a duplicate host, or more than kMaxClusterTasks hosts.
absl::StatusOr<std::vector<std::string>> ExpandHostList(absl::string_view variable, absl::string_view text);

// Expands "2(x3),1" to 2 2 2 1. InvalidArgument likewise.
absl::StatusOr<std::vector<int>> ExpandTaskCounts(absl::string_view variable, absl::string_view text);

// "ps=2,worker=4": the number of tasks of each job; at most one chief or master. InvalidArgument likewise.
absl::StatusOr<std::map<std::string, int>> ParseJobSizes(absl::string_view variable, absl::string_view text);

}  // namespace weir
