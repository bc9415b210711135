// Finds the cluster and this process's task in the launcher's environment variables.
#pragma once

#include <optional>

#include "absl/strings/string_view.h"
#include "core/api.h"
#include "core/status.h"
#include "distribute/cluster/environment.h"
#include "distribute/cluster/tf_config.h"

namespace WEIR_API weir {

enum class ClusterSource { kTfConfig, kKubernetes, kMpi, kTorchrun, kSlurm };

// "tf_config", "kubernetes", "mpi", "torchrun", "slurm".
absl::string_view ClusterSourceName(ClusterSource source);
// InvalidArgument for any other name.
absl::StatusOr<ClusterSource> ParseClusterSource(absl::string_view name);

struct ResolvedCluster {
  ClusterSource source;
  TfConfig task;  // as from TF_CONFIG; cluster and task are set
};

// Reads the given source, or else the first one with a variable set. Variables set by hand come before those of
// launchers, and inner launchers before outer ones:
// 1. TF_CONFIG
// 2. WEIR_SERVICE: a Kubernetes pod (KubernetesTask)
// 3. OMPI_COMM_WORLD_RANK, MV2_COMM_WORLD_RANK, PMI_RANK, or their sizes: started by mpirun (RankedTask). PMI_RANK is
//    skipped if SLURM_PROCID has the same value: srun sets both
// 4. MASTER_ADDR with RANK or WORLD_SIZE: started by torchrun (RankedTask)
// 5. SLURM_PROCID: a Slurm step (SlurmTask)
// Sources are never combined: if the chosen one is wrong, that is an error and the next one is not tried.
// InvalidArgument, which quotes the variable and suggests a fix, for a variable that is malformed, missing or
// contradicts another; NotFound if no source is given and none has a variable set.
absl::StatusOr<ResolvedCluster> ResolveCluster(const Environment& environment,
                                               std::optional<ClusterSource> source = std::nullopt);

// The individual sources. Weir's own variables add what a launcher does not provide:
// - WEIR_JOBS: the number of tasks of each job, "ps=2,worker=4". Ranks are assigned to jobs in the order of their
//   names. By default all are workers (Kubernetes requires it).
// - WEIR_PORT: the port of a host's first task; further tasks use the following ports. 8888 unless noted otherwise.
// - WEIR_HOSTS: the hosts of an MPI or torchrun job in rank order, "node[1-4],other".
// - WEIR_TASKS_PER_HOST: "4(x3),2"; by default equal on all hosts.

// Reads SLURM_PROCID; SLURM_STEP_NODELIST or SLURM_JOB_NODELIST; SLURM_STEP_TASKS_PER_NODE, SLURM_TASKS_PER_NODE or
// SLURM_NTASKS_PER_NODE; SLURM_STEP_NUM_TASKS or SLURM_NTASKS. Ranks fill one host after the other; SLURM_NODEID and
// SLURM_LOCALID must agree if they are set.
absl::StatusOr<TfConfig> SlurmTask(const Environment& environment);

// Reads rank and size, global and local, as set by mpirun of OpenMPI, MVAPICH or MPICH, or (`torchrun`) by torchrun. If
// all ranks are on this host they listen on 127.0.0.1; otherwise WEIR_HOSTS names the hosts. torchrun's tasks use ports
// above MASTER_PORT, where its agent listens, unless WEIR_PORT is set.
absl::StatusOr<TfConfig> RankedTask(const Environment& environment, bool torchrun);

// A pod of a StatefulSet or an Indexed Job behind the headless service WEIR_SERVICE: HOSTNAME is SET-INDEX, and the
// other tasks of WEIR_JOBS are at SET-0.SERVICE, SET-1.SERVICE …, port WEIR_PORT or 2222. A set whose name ends in -JOB
// has the tasks of that job, and other jobs have their own sets; any other set has all tasks, in the order of the jobs'
// names. JOB_COMPLETION_INDEX must agree if it is set.
absl::StatusOr<TfConfig> KubernetesTask(const Environment& environment);

}  // namespace weir
