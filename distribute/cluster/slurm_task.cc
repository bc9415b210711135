#include <optional>
#include <utility>
#include <vector>

#include "distribute/cluster/cluster_resolver.h"
#include "distribute/cluster/host_list.h"
#include "distribute/cluster/rank_layout.h"

namespace weir {
namespace {

constexpr int kFirstPort = 8888;  // the same as TensorFlow's SlurmClusterResolver
constexpr absl::string_view kStartBySrun = "start every task by srun, or give --job, --index and --cluster";

// The first of these variables that is set.
std::optional<std::string> FirstSet(const Environment& environment, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (environment.Has(name)) return name;
  }
  return std::nullopt;
}

absl::StatusOr<std::vector<int>> TasksPerNode(const Environment& environment, const std::vector<std::string>& hosts,
                                              const std::string& node_list) {
  const auto counts_from = FirstSet(environment, {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"});
  if (!counts_from.has_value()) {
    ASSIGN_OR_RETURN(const int each, environment.RequiredNumber("SLURM_NTASKS_PER_NODE", 1, kMaxClusterTasks,
                                                                "neither is SLURM_STEP_TASKS_PER_NODE; start every "
                                                                "task by srun"));
    return std::vector<int>(hosts.size(), each);
  }
  const std::string& text = *environment.Find(*counts_from);
  ASSIGN_OR_RETURN(std::vector<int> counts, ExpandTaskCounts(*counts_from, text));
  if (counts.size() != hosts.size()) {
    return errors::InvalidArgument(QuoteVariable(*counts_from, text), " is for ", counts.size(), " nodes, and ",
                                   QuoteVariable(node_list, *environment.Find(node_list)), " names ", hosts.size(),
                                   ": unset what does not belong to this step");
  }
  return counts;
}

absl::Status CheckNumberOfTasks(const Environment& environment, int tasks) {
  const auto name = FirstSet(environment, {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"});
  if (!name.has_value()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::optional<int> said, environment.Number(*name, 1, kMaxClusterTasks));
  if (*said == tasks) return absl::OkStatus();
  return errors::InvalidArgument(*name, " is ", *said, ", and the tasks per node make ", tasks,
                                 ": start every task by srun, which sets both for its step");
}

// Slurm may distribute ranks in another order.
absl::Status CheckPlace(const Environment& environment, int rank, const RankLayout& layout) {
  const RankLayout::Place place = layout.PlaceOf(rank);
  ASSIGN_OR_RETURN(const std::optional<int> node, environment.Number("SLURM_NODEID", 0, kMaxClusterTasks));
  ASSIGN_OR_RETURN(const std::optional<int> local, environment.Number("SLURM_LOCALID", 0, kMaxClusterTasks));
  if (node.value_or(place.host) == place.host && local.value_or(place.local) == place.local) return absl::OkStatus();
  return errors::InvalidArgument("SLURM_PROCID ", rank, " is to be task ", place.local, " of node ", place.host,
                                 ", where SLURM_LOCALID is ", local.value_or(place.local), " and SLURM_NODEID ",
                                 node.value_or(place.host),
                                 ": ranks must fill node after node; give srun --distribution=block");
}

}  // namespace

absl::StatusOr<TfConfig> SlurmTask(const Environment& environment) {
  ASSIGN_OR_RETURN(const int rank, environment.RequiredNumber("SLURM_PROCID", 0, kMaxClusterTasks - 1, kStartBySrun));
  const auto node_list = FirstSet(environment, {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"});
  if (!node_list.has_value()) {
    return errors::InvalidArgument("SLURM_PROCID is set, and neither SLURM_STEP_NODELIST nor SLURM_JOB_NODELIST is: ",
                                   kStartBySrun);
  }
  RankLayout layout;
  ASSIGN_OR_RETURN(layout.hosts, ExpandHostList(*node_list, *environment.Find(*node_list)));
  ASSIGN_OR_RETURN(layout.tasks_per_host, TasksPerNode(environment, layout.hosts, *node_list));
  ASSIGN_OR_RETURN(layout.first_port, FirstPort(environment, kFirstPort));
  const int64_t size = layout.Size();
  if (size > kMaxClusterTasks) {
    return errors::InvalidArgument(*node_list, " and the tasks per node make ", size,
                                   " tasks, and a cluster has at most ", kMaxClusterTasks);
  }
  RETURN_IF_ERROR(CheckNumberOfTasks(environment, static_cast<int>(size)));
  if (rank >= size) {
    return errors::InvalidArgument("SLURM_PROCID is ", rank, ", and the step has ", size, " tasks: ", kStartBySrun);
  }
  RETURN_IF_ERROR(CheckPlace(environment, rank, layout));
  return AssignRanks(environment, layout, rank, "the step's nodes and tasks per node");
}

}  // namespace weir
