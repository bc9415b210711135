// The workers of a cluster.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "core/mutex.h"
#include "distribute/cluster/cluster_spec.h"
#include "distribute/membership/cluster_membership.h"
#include "distribute/transport/grpc_channel.h"
#include "distribute/transport/worker_interface.h"

namespace weir {

class PollingThreads;

// Thread-safe. A task's channel is created when Get first asks for the task, and connects at the first call. A
// restarted task is found within the channel's max_reconnect_backoff. A task whose address changes gets another
// channel; those who hold its earlier worker may still call that. No call is pending when the pool is destroyed.
class GrpcWorkerPool : public WorkerPool {
 public:
  struct Options {
    ClusterSpec cluster;
    const ClusterMembership* membership = nullptr;  // changes the cluster; outlives the pool; null: it is constant
    std::string local_task;                         // the task of this process, if any; called directly
    GrpcChannelOptions channel;                     // for every task; address and task are set by the pool
  };

  explicit GrpcWorkerPool(Options options);
  ~GrpcWorkerPool() override;

  // An error if the pool got no thread. Calls then never end.
  absl::Status status() const;

  // Sets the local task's worker. Call before the first Get of it.
  void SetLocalWorker(std::shared_ptr<WorkerInterface> worker);

  std::vector<std::string> Tasks() const override;
  absl::StatusOr<std::shared_ptr<WorkerInterface>> Get(absl::string_view task) override;
  // The workers of another cluster, in which this process is `local_task`. Uses this pool, which outlives it, and its
  // channels: clusters that name a task and its address alike share one.
  std::shared_ptr<WorkerPool> ForCluster(ClusterSpec cluster, std::string local_task);

 private:
  class OtherCluster;

  // Connections to tasks of other clusters are kept, because calls may use them at any time.
  static constexpr size_t kMaxOtherTasks = 4096;

  absl::StatusOr<std::shared_ptr<WorkerInterface>> GetOther(const std::string& task, const std::string& address);
  std::shared_ptr<WorkerInterface> Connect(absl::string_view task, const std::string& address);

  struct Known {
    std::string address;
    int64_t version = 0;  // of the membership that said so
    std::shared_ptr<WorkerInterface> worker;
  };
  absl::StatusOr<std::string> AddressOf(absl::string_view task) const;
  // Replaced workers are kept for longer than any call lasts whose caller does not hold the worker.
  static constexpr absl::Duration kKeptFor = absl::Hours(1);
  struct Replaced {
    absl::Time since;
    std::shared_ptr<WorkerInterface> worker;
  };
  // Forgets those that nobody holds any more.
  void DropReplaced() REQUIRES(mu_);

  const Options options_;
  CallWatch watch_{options_.channel.ping_interval + options_.channel.ping_timeout};
  grpc::CompletionQueue queue_;
  std::unique_ptr<PollingThreads> threads_;
  Mutex mu_;
  std::shared_ptr<WorkerInterface> local_worker_ GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, Known> workers_ GUARDED_BY(mu_);  // by task
  // Of tasks that have left or have another address now; they may still be called.
  std::vector<Replaced> replaced_ GUARDED_BY(mu_);
  // By name and address.
  absl::flat_hash_map<std::pair<std::string, std::string>, std::shared_ptr<WorkerInterface>> others_ GUARDED_BY(mu_);
};

}  // namespace weir
