// The cluster, and which of its tasks this process is, from what the launcher left in the environment.
#pragma once

#include <optional>

#include "absl/strings/string_view.h"
#include "core/status.h"
#include "distribute/cluster/environment.h"
#include "distribute/cluster/tf_config.h"

namespace weir {

enum class ClusterSource { kTfConfig, kKubernetes, kMpi, kTorchrun, kSlurm };

// "tf_config", "kubernetes", "mpi", "torchrun", "slurm".
absl::string_view ClusterSourceName(ClusterSource source);
// InvalidArgument for any other.
absl::StatusOr<ClusterSource> ParseClusterSource(absl::string_view name);

struct ResolvedCluster {
  ClusterSource source;
  TfConfig task;  // as a TF_CONFIG would have said it; cluster and task are there
};

// Reads the source that is given, or else the first that has left a trace, in this order, where what is set by hand
// stands before what a launcher sets, and the launcher that is nearer to the process before the one around it:
//   1. TF_CONFIG
//   2. WEIR_SERVICE: a pod of Kubernetes (KubernetesTask)
//   3. OMPI_COMM_WORLD_RANK, MV2_COMM_WORLD_RANK, PMI_RANK, or their sizes: started by mpirun (RankedTask). PMI_RANK
//      is passed over where SLURM_PROCID is the same: srun sets both
//   4. MASTER_ADDR with RANK or WORLD_SIZE: started by torchrun (RankedTask)
//   5. SLURM_PROCID: a step of Slurm (SlurmTask)
// Nothing is combined: a source that is chosen and is not right is an error, and the next one is not tried.
// InvalidArgument, quoting the variable and telling what to do, for one that is malformed, missing or contradicts
// another; NotFound when no source is given and none has left a trace.
absl::StatusOr<ResolvedCluster> ResolveCluster(const Environment& environment,
                                               std::optional<ClusterSource> source = std::nullopt);

// The sources one by one. Where they need more than their launcher tells, variables of ours say it:
//   WEIR_JOBS            how many tasks each job has, "ps=2,worker=4": ranks are dealt to jobs in the order of their
//                        names. Without it all are workers (Kubernetes needs it)
//   WEIR_PORT            the first task of a host listens there, the next one above it …; 8888 unless said otherwise
//   WEIR_HOSTS           the hosts of an MPI or torchrun job in the order of its ranks, "node[1-4],other"
//   WEIR_TASKS_PER_HOST  "4(x3),2"; without it as many on each

// SLURM_PROCID; SLURM_STEP_NODELIST or SLURM_JOB_NODELIST; SLURM_STEP_TASKS_PER_NODE, SLURM_TASKS_PER_NODE or
// SLURM_NTASKS_PER_NODE; SLURM_STEP_NUM_TASKS or SLURM_NTASKS. Ranks fill host after host; SLURM_NODEID and
// SLURM_LOCALID, where they are set, must agree.
absl::StatusOr<TfConfig> SlurmTask(const Environment& environment);

// Rank and size, and their like on this host, as mpirun of OpenMPI, MVAPICH or MPICH sets them, or (`torchrun`) as
// torchrun does. When all ranks are on this host they listen on 127.0.0.1; otherwise WEIR_HOSTS names the hosts.
// torchrun's tasks listen above MASTER_PORT, where its own agent listens, unless WEIR_PORT is set.
absl::StatusOr<TfConfig> RankedTask(const Environment& environment, bool torchrun);

// A pod of a StatefulSet or an Indexed Job behind the headless service WEIR_SERVICE: HOSTNAME is SET-INDEX, and the
// others of WEIR_JOBS are at SET-0.SERVICE, SET-1.SERVICE …, port WEIR_PORT or 2222. A set whose name ends in -JOB
// holds the tasks of that job, and the other jobs have sets of their own; any other set holds all tasks, in the order
// of the jobs' names. JOB_COMPLETION_INDEX, where it is set, must agree.
absl::StatusOr<TfConfig> KubernetesTask(const Environment& environment);

}  // namespace weir
