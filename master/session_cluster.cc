#include "master/session_cluster.h"

#include "absl/strings/match.h"
#include "distribute/cluster/address.h"

namespace weir {
namespace {

// "grpc://host:port" and "host:port" become the form in which addresses are compared.
std::string Normal(absl::string_view target) {
  const size_t scheme = target.find("://");
  if (absl::StartsWith(target, "grpc") && scheme != absl::string_view::npos) target.remove_prefix(scheme + 3);
  const absl::StatusOr<Address> address = Address::Parse(target);
  return address.ok() ? address->ToString() : std::string(target);
}

}  // namespace

absl::StatusOr<SessionCluster> SessionCluster::Find(const tensorflow::ClusterDef& def, const std::string& target,
                                                    const std::string& started_as) {
  SessionCluster cluster;
  cluster.local_address = Normal(target);
  for (const tensorflow::JobDef& job : def.job()) {
    for (const auto& [index, address] : job.tasks()) {
      if (Normal(address) != cluster.local_address) continue;
      if (!cluster.local_task.empty()) {
        return errors::InvalidArgument(
            "Found multiple matching tasks that correspond to to the master. Master target: '", target,
            "'. ClusterDef: ", def.ShortDebugString());
      }
      cluster.local_task = TaskName(job.name(), index);
      if (cluster.local_task == started_as) {
        return errors::InvalidArgument(
            "The ClusterSpec names the job and task index to be the same names that were provided when the server "
            "booted. This is currently not allowed. Job: ",
            job.name(), ", task index: ", index);
      }
    }
  }
  if (cluster.local_task.empty()) {
    return errors::InvalidArgument("The master (current machine) is not included in the provided cluster_def. ",
                                   def.ShortDebugString());
  }
  ASSIGN_OR_RETURN(cluster.spec, ClusterSpec::FromProto(def));
  return cluster;
}

absl::Status SessionCluster::Describe(const std::string& task, tensorflow::ServerDef* server) const {
  for (const auto& [job, tasks] : spec.jobs()) {
    for (const auto& [index, address] : tasks) {
      if (TaskName(job, index) != task) continue;
      spec.ToProto(server->mutable_cluster());
      server->set_job_name(job);
      server->set_task_index(index);
      server->set_protocol("grpc");
      return absl::OkStatus();
    }
  }
  return errors::NotFound("The session's cluster has no task ", task);
}

}  // namespace weir
