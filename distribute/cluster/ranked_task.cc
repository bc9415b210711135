#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "distribute/cluster/cluster_resolver.h"
#include "distribute/cluster/host_list.h"
#include "distribute/cluster/rank_layout.h"

namespace weir {
namespace {

constexpr int kFirstPort = 8888;
constexpr char kLoopback[] = "127.0.0.1";

// A launcher's variable names.
struct Names {
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* local_size;
};
constexpr Names kOpenMpi = {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
                            "OMPI_COMM_WORLD_LOCAL_SIZE"};
constexpr Names kMvapich = {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK",
                            "MV2_COMM_WORLD_LOCAL_SIZE"};
constexpr Names kPmi = {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"};
constexpr Names kTorchrun = {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};

// Their values.
struct Ranks {
  Names names;
  int rank = 0;
  int size = 0;
  std::optional<int> local_rank;
  std::optional<int> local_size;
};

Names NamesOf(const Environment& environment, bool torchrun) {
  if (torchrun) return kTorchrun;
  for (const Names& names : {kOpenMpi, kMvapich}) {
    if (environment.Has(names.rank) || environment.Has(names.size)) return names;
  }
  return kPmi;
}

absl::StatusOr<Ranks> ReadRanks(const Environment& environment, const Names& names, bool torchrun) {
  const absl::string_view advice = torchrun ? "start every task by torchrun, which sets RANK and WORLD_SIZE"
                                            : "start every task by mpirun, which sets the rank and the size";
  Ranks ranks;
  ranks.names = names;
  ASSIGN_OR_RETURN(ranks.rank, environment.RequiredNumber(names.rank, 0, kMaxClusterTasks - 1, advice));
  ASSIGN_OR_RETURN(ranks.size, environment.RequiredNumber(names.size, 1, kMaxClusterTasks, advice));
  ASSIGN_OR_RETURN(ranks.local_rank, environment.Number(names.local_rank, 0, kMaxClusterTasks - 1));
  ASSIGN_OR_RETURN(ranks.local_size, environment.Number(names.local_size, 1, kMaxClusterTasks));
  const auto contradict = [](const char* small, int value, const char* large, int bound) {
    return errors::InvalidArgument(small, " is ", value, ", and ", large, " ", bound,
                                   ": unset those that do not come from the launcher of this process");
  };
  if (ranks.rank >= ranks.size) return contradict(names.rank, ranks.rank, names.size, ranks.size);
  if (ranks.local_size.value_or(1) > ranks.size) {
    return contradict(names.local_size, *ranks.local_size, names.size, ranks.size);
  }
  if (const int bound = ranks.local_size.value_or(ranks.size); ranks.local_rank.value_or(0) >= bound) {
    return contradict(names.local_rank, *ranks.local_rank, ranks.local_size.has_value() ? names.local_size : names.size,
                      bound);
  }
  return ranks;
}

absl::StatusOr<std::vector<int>> TasksPerHost(const Environment& environment, const Ranks& ranks, int hosts) {
  if (const std::string* text = environment.Find("WEIR_TASKS_PER_HOST")) {
    ASSIGN_OR_RETURN(std::vector<int> counts, ExpandTaskCounts("WEIR_TASKS_PER_HOST", *text));
    if (static_cast<int>(counts.size()) != hosts) {
      return errors::InvalidArgument(QuoteVariable("WEIR_TASKS_PER_HOST", *text), " is for ", counts.size(),
                                     " hosts, and WEIR_HOSTS names ", hosts);
    }
    if (const int64_t sum = std::accumulate(counts.begin(), counts.end(), int64_t{0}); sum != ranks.size) {
      return errors::InvalidArgument(QuoteVariable("WEIR_TASKS_PER_HOST", *text), " makes ", sum, " tasks, and ",
                                     ranks.names.size, " is ", ranks.size);
    }
    return counts;
  }
  if (ranks.size % hosts != 0) {
    return errors::InvalidArgument(ranks.names.size, " is ", ranks.size, " and WEIR_HOSTS names ", hosts,
                                   " hosts: set WEIR_TASKS_PER_HOST to what each has, like 4(x3),2");
  }
  return std::vector<int>(hosts, ranks.size / hosts);
}

absl::Status CheckPlace(const Ranks& ranks, const RankLayout& layout) {
  const RankLayout::Place place = layout.PlaceOf(ranks.rank);
  const int tasks = layout.tasks_per_host[place.host];
  if (ranks.local_size.value_or(tasks) != tasks) {
    return errors::InvalidArgument(ranks.names.local_size, " is ", *ranks.local_size, ", and WEIR_HOSTS gives ", tasks,
                                   " tasks to ", layout.hosts[place.host],
                                   ": set WEIR_HOSTS and WEIR_TASKS_PER_HOST as the job was started");
  }
  if (ranks.local_rank.value_or(place.local) != place.local) {
    return errors::InvalidArgument(
        ranks.names.rank, " ", ranks.rank, " is to be number ", place.local, " on ", layout.hosts[place.host], ", and ",
        ranks.names.local_rank, " is ", *ranks.local_rank,
        ": ranks must fill host after host, in the order of WEIR_HOSTS (mpirun --map-by slot)");
  }
  return absl::OkStatus();
}

absl::StatusOr<RankLayout> LayOut(const Environment& environment, const Ranks& ranks) {
  RankLayout layout;
  if (const std::string* text = environment.Find("WEIR_HOSTS")) {
    ASSIGN_OR_RETURN(layout.hosts, ExpandHostList("WEIR_HOSTS", *text));
    ASSIGN_OR_RETURN(layout.tasks_per_host, TasksPerHost(environment, ranks, static_cast<int>(layout.hosts.size())));
    return layout;
  }
  if (ranks.size > 1 && ranks.local_size != ranks.size) {
    const std::string here = ranks.local_size.has_value() ? absl::StrCat(ranks.names.local_size, " ", *ranks.local_size)
                                                          : absl::StrCat(ranks.names.local_size, " not set");
    return errors::InvalidArgument(ranks.names.size, " is ", ranks.size, " and ", here,
                                   ", and nothing names the other hosts: set WEIR_HOSTS on every task to the hosts in "
                                   "the order of their ranks, like node[1-4] (under Slurm: $SLURM_JOB_NODELIST)");
  }
  layout.hosts = {kLoopback};
  layout.tasks_per_host = {ranks.size};
  return layout;
}

absl::StatusOr<int> PortOf(const Environment& environment, bool torchrun) {
  if (!torchrun || environment.Has("WEIR_PORT")) return FirstPort(environment, kFirstPort);
  ASSIGN_OR_RETURN(const int port,
                   environment.RequiredNumber("MASTER_PORT", 1, kMaxPort - 1, "set it, or WEIR_PORT, on every task"));
  return port + 1;
}

}  // namespace

absl::StatusOr<TfConfig> RankedTask(const Environment& environment, bool torchrun) {
  const Names names = NamesOf(environment, torchrun);
  ASSIGN_OR_RETURN(const Ranks ranks, ReadRanks(environment, names, torchrun));
  ASSIGN_OR_RETURN(RankLayout layout, LayOut(environment, ranks));
  RETURN_IF_ERROR(CheckPlace(ranks, layout));
  ASSIGN_OR_RETURN(layout.first_port, PortOf(environment, torchrun));
  return AssignRanks(environment, layout, ranks.rank, names.size);
}

}  // namespace weir
