#include "distribute/cluster/rank_layout.h"

#include <algorithm>
#include <map>
#include <utility>

#include "distribute/cluster/host_list.h"

namespace weir {
namespace {

absl::StatusOr<std::map<std::string, int>> JobSizes(const Environment& environment, int tasks,
                                                    absl::string_view size_from) {
  const std::string* text = environment.Find("WEIR_JOBS");
  if (text == nullptr) return std::map<std::string, int>{{"worker", tasks}};
  ASSIGN_OR_RETURN(auto sizes, ParseJobSizes("WEIR_JOBS", *text));
  int64_t sum = 0;
  for (const auto& [job, size] : sizes) sum += size;
  if (sum != tasks) {
    return errors::InvalidArgument(QuoteVariable("WEIR_JOBS", *text), " has ", sum, " tasks, and there are ", tasks,
                                   " (", size_from, "): start as many as the jobs have");
  }
  return sizes;
}

}  // namespace

int64_t RankLayout::Size() const {
  int64_t size = 0;
  for (const int tasks : tasks_per_host) size += tasks;
  return size;
}

RankLayout::Place RankLayout::PlaceOf(int rank) const {
  int host = 0;
  for (; rank >= tasks_per_host[host]; ++host) rank -= tasks_per_host[host];
  return {host, rank};
}

absl::StatusOr<int> FirstPort(const Environment& environment, int otherwise) {
  ASSIGN_OR_RETURN(const std::optional<int> port, environment.Number("WEIR_PORT", 1, kMaxPort));
  return port.value_or(otherwise);
}

absl::StatusOr<TfConfig> AssignRanks(const Environment& environment, const RankLayout& layout, int rank,
                                     absl::string_view size_from) {
  const int most = *std::max_element(layout.tasks_per_host.begin(), layout.tasks_per_host.end());
  if (layout.first_port + most - 1 > kMaxPort) {
    return errors::InvalidArgument(most, " tasks of a host do not have ports from ", layout.first_port, " to ",
                                   kMaxPort, ": set WEIR_PORT to a lower one");
  }
  std::vector<std::string> addresses;
  for (size_t host = 0; host < layout.hosts.size(); ++host) {
    for (int local = 0; local < layout.tasks_per_host[host]; ++local) {
      addresses.push_back(absl::StrCat(layout.hosts[host], ":", layout.first_port + local));
    }
  }
  return AssignAddresses(environment, addresses, rank, size_from);
}

absl::StatusOr<TfConfig> AssignAddresses(const Environment& environment, const std::vector<std::string>& addresses,
                                         int rank, absl::string_view size_from) {
  ASSIGN_OR_RETURN(const auto sizes, JobSizes(environment, static_cast<int>(addresses.size()), size_from));
  TfConfig config;
  int next = 0;
  for (const auto& [job, size] : sizes) {
    for (int index = 0; index < size; ++index, ++next) {
      RETURN_IF_ERROR(config.cluster.AddTask(job, index, addresses[next]));
      if (next != rank) continue;
      config.task_type = job;
      config.task_index = index;
    }
  }
  return config;
}

}  // namespace weir
