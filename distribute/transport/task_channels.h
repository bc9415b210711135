// Channels to the tasks of a cluster.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "core/mutex.h"
#include "core/status.h"
#include "distribute/membership/cluster_membership.h"
#include "distribute/transport/grpc_channel.h"

namespace weir {

// For services that pass calls on to other tasks. A channel is made when it is first asked for. Thread-safe.
class TaskChannels {
 public:
  // Of the task of `membership`, which outlives this. `queue` serves asynchronous calls, and outlives this; nullptr:
  // all calls are synchronous.
  TaskChannels(const ClusterMembership* membership, grpc::CompletionQueue* queue)
      : membership_(membership), queue_(queue) {}

  // NotFound if the cluster has no such task. The channel stays open until the task has another address.
  absl::StatusOr<std::shared_ptr<GrpcChannel>> To(const std::string& task) {
    ASSIGN_OR_RETURN(const std::string address, membership_->Get()->cluster.AddressOfTask(task));
    MutexLock lock(mu_);
    std::shared_ptr<GrpcChannel>& channel = channels_[task];
    if (channel == nullptr || channel->options().address != address) {
      channel = std::make_shared<GrpcChannel>(
          GrpcChannelOptions{.address = address, .task = task, .local_task = membership_->task()}, queue_);
    }
    return channel;
  }

 private:
  const ClusterMembership* const membership_;
  grpc::CompletionQueue* const queue_;
  Mutex mu_;
  absl::flat_hash_map<std::string, std::shared_ptr<GrpcChannel>> channels_ GUARDED_BY(mu_);
};

}  // namespace weir
