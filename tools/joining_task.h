// A server that becomes a task of a running cluster.
#pragma once

#include <memory>

#include "core/status.h"
#include "distribute/cluster/reserved_port.h"
#include "distribute/membership/cluster_membership.h"
#include "distribute/transport/membership/cluster_join.h"
#include "tools/server.h"

namespace weir {

// Thread-safe.
class JoiningTask {
 public:
  // Gets a name from the cluster of options->join, and writes it, the cluster's tasks and the address to listen on to
  // the options.
  static absl::StatusOr<std::unique_ptr<JoiningTask>> Begin(Server::Options* options);

  const ClusterView& view() const { return join_->view(); }
  // The task serves: returns once the other tasks know it.
  absl::Status Complete(ClusterMembership* membership) { return join_->Complete(membership); }
  void Leave();

 private:
  JoiningTask(std::unique_ptr<ReservedPort> port, std::unique_ptr<ClusterJoin> join)
      : port_(std::move(port)), join_(std::move(join)) {}

  const std::unique_ptr<ReservedPort> port_;  // null: the port was given
  const std::unique_ptr<ClusterJoin> join_;
};

}  // namespace weir
