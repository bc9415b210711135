#include "distribute/transport/workers/grpc_worker_pool.h"

#include <utility>

#include "absl/strings/str_join.h"
#include "distribute/transport/polling_threads.h"
#include "distribute/transport/workers/remote_worker.h"

namespace weir {
namespace {

// NotFound, which lists the tasks, if the cluster does not have it.
absl::StatusOr<std::string> AddressOfTask(const ClusterSpec& cluster, absl::string_view task) {
  for (const auto& [job, tasks] : cluster.jobs()) {
    for (const auto& [index, address] : tasks) {
      if (TaskName(job, index) == task) return address;
    }
  }
  return errors::NotFound("The cluster has no task '", task, "'; it has ", absl::StrJoin(cluster.TaskNames(), ", "));
}

}  // namespace

class GrpcWorkerPool::OtherCluster : public WorkerPool {
 public:
  OtherCluster(GrpcWorkerPool* pool, ClusterSpec cluster, std::string local_task)
      : pool_(pool), cluster_(std::move(cluster)), local_task_(std::move(local_task)) {}

  std::vector<std::string> Tasks() const override { return cluster_.TaskNames(); }
  absl::StatusOr<std::shared_ptr<WorkerInterface>> Get(absl::string_view task) override {
    if (task == local_task_) return pool_->Get(pool_->options_.local_task);
    ASSIGN_OR_RETURN(const std::string address, AddressOfTask(cluster_, task));
    return pool_->GetOther(std::string(task), address);
  }

 private:
  GrpcWorkerPool* const pool_;
  const ClusterSpec cluster_;
  const std::string local_task_;
};

GrpcWorkerPool::GrpcWorkerPool(Options options)
    : options_(std::move(options)), threads_(std::make_unique<PollingThreads>(&queue_, PollingThreads::Options())) {}

GrpcWorkerPool::~GrpcWorkerPool() {
  queue_.Shutdown();
  threads_.reset();
}

absl::Status GrpcWorkerPool::status() const { return threads_->status(); }

void GrpcWorkerPool::SetLocalWorker(std::shared_ptr<WorkerInterface> worker) {
  MutexLock lock(mu_);
  workers_[options_.local_task] = std::move(worker);
}

absl::StatusOr<std::shared_ptr<WorkerInterface>> GrpcWorkerPool::Get(absl::string_view task) {
  MutexLock lock(mu_);
  auto found = workers_.find(task);
  if (found != workers_.end()) return found->second;
  ASSIGN_OR_RETURN(const std::string address, AddressOfTask(options_.cluster, task));
  if (task == options_.local_task) {
    return errors::FailedPrecondition("The worker of this task, ", task, ", is not created yet");
  }
  return workers_.emplace(task, Connect(task, address)).first->second;
}

std::shared_ptr<WorkerPool> GrpcWorkerPool::ForCluster(ClusterSpec cluster, std::string local_task) {
  return std::make_shared<OtherCluster>(this, std::move(cluster), std::move(local_task));
}

absl::StatusOr<std::shared_ptr<WorkerInterface>> GrpcWorkerPool::GetOther(const std::string& task,
                                                                          const std::string& address) {
  MutexLock lock(mu_);
  const auto key = std::make_pair(task, address);
  if (auto found = others_.find(key); found != others_.end()) return found->second;
  if (others_.size() == kMaxOtherTasks) {
    return errors::ResourceExhausted("Sessions with a cluster_def have named ", kMaxOtherTasks,
                                     " tasks to this server, which is the limit; restart it to name others");
  }
  return others_.emplace(key, Connect(task, address)).first->second;
}

std::shared_ptr<WorkerInterface> GrpcWorkerPool::Connect(absl::string_view task, const std::string& address) {
  GrpcChannelOptions channel = options_.channel;
  channel.address = address;
  channel.task = std::string(task);
  channel.local_task = options_.local_task;
  channel.watch = &watch_;
  return std::make_shared<RemoteWorker>(std::move(channel), &queue_);
}

}  // namespace weir
