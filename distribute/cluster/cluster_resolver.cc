#include "distribute/cluster/cluster_resolver.h"

#include <utility>

#include "absl/strings/str_join.h"

namespace weir {
namespace {

struct Named {
  ClusterSource source;
  absl::string_view name;
};
constexpr Named kSources[] = {{ClusterSource::kTfConfig, "tf_config"},
                              {ClusterSource::kKubernetes, "kubernetes"},
                              {ClusterSource::kMpi, "mpi"},
                              {ClusterSource::kTorchrun, "torchrun"},
                              {ClusterSource::kSlurm, "slurm"}};

bool StartedByMpirun(const Environment& environment) {
  for (const char* name :
       {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"}) {
    if (environment.Has(name)) return true;
  }
  const std::string* rank = environment.Find("PMI_RANK");
  if (rank == nullptr) return environment.Has("PMI_SIZE");
  const std::string* slurm_rank = environment.Find("SLURM_PROCID");
  return slurm_rank == nullptr || *slurm_rank != *rank;
}

absl::StatusOr<ClusterSource> Detect(const Environment& environment) {
  if (environment.Has("TF_CONFIG")) return ClusterSource::kTfConfig;
  if (environment.Has("WEIR_SERVICE")) return ClusterSource::kKubernetes;
  if (StartedByMpirun(environment)) return ClusterSource::kMpi;
  if (environment.Has("MASTER_ADDR") && (environment.Has("RANK") || environment.Has("WORLD_SIZE"))) {
    return ClusterSource::kTorchrun;
  }
  if (environment.Has("SLURM_PROCID")) return ClusterSource::kSlurm;
  return errors::NotFound(
      "The environment names no cluster: none of TF_CONFIG, WEIR_SERVICE (a pod of Kubernetes), OMPI_COMM_WORLD_RANK, "
      "MV2_COMM_WORLD_RANK or PMI_RANK (mpirun), RANK with MASTER_ADDR (torchrun) and SLURM_PROCID (srun) is set");
}

absl::StatusOr<TfConfig> TaskOfTfConfig(const Environment& environment) {
  ASSIGN_OR_RETURN(const std::string text,
                   environment.Required("TF_CONFIG", "set it to the cluster and this process's task, as JSON"));
  ASSIGN_OR_RETURN(TfConfig config, ParseTfConfig(text));
  if (config.cluster.empty()) return errors::InvalidArgument("TF_CONFIG has no cluster");
  if (config.task_type.empty()) return errors::InvalidArgument("TF_CONFIG has no task");
  return config;
}

absl::StatusOr<TfConfig> TaskOf(ClusterSource source, const Environment& environment) {
  switch (source) {
    case ClusterSource::kTfConfig:
      return TaskOfTfConfig(environment);
    case ClusterSource::kKubernetes:
      return KubernetesTask(environment);
    case ClusterSource::kMpi:
      return RankedTask(environment, /*torchrun=*/false);
    case ClusterSource::kTorchrun:
      return RankedTask(environment, /*torchrun=*/true);
    case ClusterSource::kSlurm:
      return SlurmTask(environment);
  }
  return errors::Internal("No such source of a cluster");
}

}  // namespace

absl::string_view ClusterSourceName(ClusterSource source) {
  for (const Named& named : kSources) {
    if (named.source == source) return named.name;
  }
  return "unknown";
}

absl::StatusOr<ClusterSource> ParseClusterSource(absl::string_view name) {
  for (const Named& named : kSources) {
    if (named.name == name) return named.source;
  }
  return errors::InvalidArgument(
      "'", name, "' is not a source of clusters; there are ",
      absl::StrJoin(kSources, ", ", [](std::string* out, const Named& named) { absl::StrAppend(out, named.name); }));
}

absl::StatusOr<ResolvedCluster> ResolveCluster(const Environment& environment, std::optional<ClusterSource> source) {
  if (!source.has_value()) {
    ASSIGN_OR_RETURN(source, Detect(environment));
  }
  ASSIGN_OR_RETURN(TfConfig task, TaskOf(*source, environment));
  return ResolvedCluster{*source, std::move(task)};
}

}  // namespace weir
