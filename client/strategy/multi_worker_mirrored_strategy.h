// Copies of every variable on several tasks, kept equal by collectives.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client/strategy/communication_options.h"
#include "client/strategy/strategy.h"
#include "core/api.h"
#include "distribute/cluster/cluster_spec.h"

namespace WEIR_API weir {

struct MultiWorkerMirroredOptions {
  ClusterSpec cluster;
  // The tasks of these jobs are the workers, in this order; jobs that the cluster does not have are skipped.
  std::vector<std::string> jobs = {"chief", "worker"};
  // -1: one graph contains the replicas of all workers, under one master. Otherwise only those of this worker: each
  // worker has its own client, graph and master, makes the same calls in the same order, and runs its steps together
  // with the others.
  int worker = -1;
  // Devices of each worker; one replica on each.
  std::vector<std::string> local_devices = {"/device:CPU:0"};
  // For the collectives, together with the next key; must be unique among the cluster's strategies.
  int group_key = 1;
  // The collectives of a graph count their keys from here, below 2^23. Graphs that run side by side at the same masters
  // need different ones.
  int first_instance_key = 1;
  // Each worker's variables begin with its own initial values, and initialising is no collective: for callers that make
  // them equal afterwards. The second group key is then not used.
  bool own_initial_values = false;
  // Built once, when all gradients have been reduced: no update begins before this operation has ended.
  std::function<Operation(const Scope& scope)> before_updates;
  CommunicationOptions communication;  // of the collectives
};

// Gradients are all-reduced among all replicas, each of which updates its own copy. Initial values are those of the
// first worker. With one graph per worker, initialising, saving and restoring are collective too: all workers take
// part, each with its own directory. InvalidArgument for no workers, an unknown worker, or invalid devices.
absl::StatusOr<std::unique_ptr<Strategy>> MultiWorkerMirroredStrategy(const Scope& root,
                                                                      MultiWorkerMirroredOptions options);

}  // namespace weir
