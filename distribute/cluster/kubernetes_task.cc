#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "distribute/cluster/cluster_resolver.h"
#include "distribute/cluster/host_list.h"
#include "distribute/cluster/rank_layout.h"

namespace weir {
namespace {

constexpr int kPort = 2222;  // the same as Kubeflow's operator
constexpr size_t kMaxIndexDigits = 9;
constexpr size_t kMaxName = 253;

// "weir-worker-3" is pod 3 of the set "weir-worker".
struct Pod {
  std::string set;
  int index = 0;
};

absl::StatusOr<Pod> PodOf(const Environment& environment) {
  ASSIGN_OR_RETURN(const std::string host_name,
                   environment.Required("HOSTNAME", "Kubernetes sets it to the pod's name"));
  const absl::string_view full_name = host_name;
  const absl::string_view name = full_name.substr(0, full_name.find('.'));
  const size_t dash = name.rfind('-');
  const absl::string_view digits = dash == absl::string_view::npos ? "" : name.substr(dash + 1);
  Pod pod;
  bool is_index = !digits.empty() && digits.size() <= kMaxIndexDigits && dash > 0 && name.size() <= kMaxName;
  for (const char c : digits) is_index = is_index && absl::ascii_isdigit(c);
  if (!is_index || !absl::SimpleAtoi(digits, &pod.index)) {
    return errors::InvalidArgument(QuoteVariable("HOSTNAME", host_name),
                                   " is not NAME-INDEX: run the pod in a StatefulSet, or in a Job with completionMode: "
                                   "Indexed and a subdomain, and not in the host's network");
  }
  pod.set = std::string(name.substr(0, dash));
  ASSIGN_OR_RETURN(const std::optional<int> completion,
                   environment.Number("JOB_COMPLETION_INDEX", 0, kMaxClusterTasks - 1));
  if (completion.value_or(pod.index) != pod.index) {
    return errors::InvalidArgument("JOB_COMPLETION_INDEX is ", *completion, ", and ",
                                   QuoteVariable("HOSTNAME", host_name), " ends in ", pod.index,
                                   ": leave both as Kubernetes sets them");
  }
  return pod;
}

// The job that the set's name ends in; empty: the set has all jobs.
std::string JobOfSet(const Pod& pod, const std::map<std::string, int>& sizes) {
  for (const auto& [job, size] : sizes) {
    if (absl::EndsWith(pod.set, absl::StrCat("-", job))) return job;
  }
  return "";
}

}  // namespace

absl::StatusOr<TfConfig> KubernetesTask(const Environment& environment) {
  ASSIGN_OR_RETURN(const std::string service,
                   environment.Required("WEIR_SERVICE", "set it to the name of the headless service of the pods"));
  if (service.size() > kMaxName) {
    return errors::InvalidArgument(QuoteVariable("WEIR_SERVICE", service), " is longer than a name can be, ", kMaxName);
  }
  ASSIGN_OR_RETURN(const std::string jobs, environment.Required("WEIR_JOBS",
                                                                "set it to how many pods each job has, like "
                                                                "ps=2,worker=4: a pod cannot know that"));
  ASSIGN_OR_RETURN(const auto sizes, ParseJobSizes("WEIR_JOBS", jobs));
  ASSIGN_OR_RETURN(const int port, FirstPort(environment, kPort));
  ASSIGN_OR_RETURN(const Pod pod, PodOf(environment));
  const std::string own_job = JobOfSet(pod, sizes);
  const std::string prefix = pod.set.substr(0, pod.set.size() - own_job.size());

  std::vector<std::string> addresses;
  int64_t total = 0, rank = -1;
  for (const auto& [job, size] : sizes) {
    if (total + size > kMaxClusterTasks) {
      return errors::InvalidArgument(QuoteVariable("WEIR_JOBS", jobs), " has more than ", kMaxClusterTasks, " tasks");
    }
    const std::string set = own_job.empty() ? pod.set : prefix + job;
    const int64_t first = own_job.empty() ? total : 0;  // the index of the job's task 0 in its set
    for (int index = 0; index < size; ++index) {
      if (set == pod.set && first + index == pod.index) rank = total + index;
      addresses.push_back(absl::StrCat(set, "-", first + index, ".", service, ":", port));
    }
    total += size;
  }
  if (rank < 0) {
    return errors::InvalidArgument(
        "This is pod ", pod.index, " of ", pod.set, " (HOSTNAME), and ", QuoteVariable("WEIR_JOBS", jobs), " has ",
        own_job.empty() ? total : int64_t{sizes.at(own_job)}, ": make replicas, or completions, and WEIR_JOBS agree");
  }
  return AssignAddresses(environment, addresses, static_cast<int>(rank), "WEIR_JOBS");
}

}  // namespace weir
