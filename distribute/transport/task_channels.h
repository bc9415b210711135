// Channels to the tasks of a cluster.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "core/mutex.h"
#include "core/status.h"
#include "distribute/cluster/cluster_spec.h"
#include "distribute/transport/grpc_channel.h"

namespace weir {

// For services that pass calls on to other tasks. A channel is made when it is first asked for. Thread-safe.
class TaskChannels {
 public:
  // Of `task`. `queue` serves asynchronous calls, and outlives this; nullptr: all calls are synchronous.
  TaskChannels(std::string task, const ClusterSpec& cluster, grpc::CompletionQueue* queue)
      : task_(std::move(task)), queue_(queue) {
    for (const auto& [job, tasks] : cluster.jobs()) {
      for (const auto& [index, address] : tasks) addresses_[TaskName(job, index)] = address;
    }
  }

  // NotFound if the cluster has no such task. The channel lives as long as this.
  absl::StatusOr<GrpcChannel*> To(const std::string& task) {
    const auto address = addresses_.find(task);
    if (address == addresses_.end()) return errors::NotFound("The cluster has no task ", task);
    MutexLock lock(mu_);
    std::unique_ptr<GrpcChannel>& channel = channels_[task];
    if (channel == nullptr) {
      channel = std::make_unique<GrpcChannel>(
          GrpcChannelOptions{.address = address->second, .task = task, .local_task = task_}, queue_);
    }
    return channel.get();
  }
  const std::map<std::string, std::string>& addresses() const { return addresses_; }  // by task

 private:
  const std::string task_;
  grpc::CompletionQueue* const queue_;
  std::map<std::string, std::string> addresses_;
  Mutex mu_;
  std::map<std::string, std::unique_ptr<GrpcChannel>> channels_ GUARDED_BY(mu_);
};

}  // namespace weir
