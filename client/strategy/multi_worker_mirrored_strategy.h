// Copies of every variable on several tasks, kept equal by collectives.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/strategy/communication_options.h"
#include "client/strategy/strategy.h"
#include "distribute/cluster/cluster_spec.h"

namespace weir {

struct MultiWorkerMirroredOptions {
  ClusterSpec cluster;
  // Those tasks of these jobs are workers, in this order; a job that the cluster does not have is passed over.
  std::vector<std::string> jobs = {"chief", "worker"};
  // -1: one graph holds the replicas of all workers, under one master. Else only those of this worker: each has a
  // client, a graph and a master, makes the same calls in the same order, and runs its steps together with the others.
  int worker = -1;
  // Of each worker; one replica on each.
  std::vector<std::string> local_devices = {"/device:CPU:0"};
  // Of the collectives, and the next one too; no other strategy of the cluster may have the same.
  int group_key = 1;
  CommunicationOptions communication;  // of the collectives
};

// Gradients are all-reduced among all replicas, each of which updates its own copy. Initial values are those of the
// first worker. With a graph a worker, initialising, saving and restoring are collective too: all workers do them, each
// with a directory of its own. InvalidArgument for no worker, one that does not exist, and wrong devices.
absl::StatusOr<std::unique_ptr<Strategy>> MultiWorkerMirroredStrategy(const Scope& root,
                                                                      MultiWorkerMirroredOptions options);

}  // namespace weir
