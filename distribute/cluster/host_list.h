// Lists of hosts and of tasks per host, in the short forms in which Slurm writes them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/status.h"

namespace weir {

// More are refused before anything is made of them.
inline constexpr int kMaxClusterTasks = 1 << 16;

// "n[1-3,07],rack[0-1]node[0-1],last" as n1 n2 n3 n07 rack0node0 rack0node1 rack1node0 rack1node1 last: in the list's
// order, numbers as wide as the range's first one. InvalidArgument, quoting `variable` and the part at fault, for what
// is no such list, names a host twice, or names more than kMaxClusterTasks.
absl::StatusOr<std::vector<std::string>> ExpandHostList(absl::string_view variable, absl::string_view text);

// "2(x3),1" as 2 2 2 1. InvalidArgument likewise.
absl::StatusOr<std::vector<int>> ExpandTaskCounts(absl::string_view variable, absl::string_view text);

// "ps=2,worker=4": how many tasks each job has; at most one chief or master. InvalidArgument likewise.
absl::StatusOr<std::map<std::string, int>> ParseJobSizes(absl::string_view variable, absl::string_view text);

}  // namespace weir
