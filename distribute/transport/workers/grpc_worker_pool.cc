#include "distribute/transport/workers/grpc_worker_pool.h"

#include <algorithm>
#include <utility>

#include "core/clock.h"
#include "distribute/transport/polling_threads.h"
#include "distribute/transport/workers/remote_worker.h"

namespace weir {

class GrpcWorkerPool::OtherCluster : public WorkerPool {
 public:
  OtherCluster(GrpcWorkerPool* pool, ClusterSpec cluster, std::string local_task)
      : pool_(pool), cluster_(std::move(cluster)), local_task_(std::move(local_task)) {}

  std::vector<std::string> Tasks() const override { return cluster_.TaskNames(); }
  absl::StatusOr<std::shared_ptr<WorkerInterface>> Get(absl::string_view task) override {
    if (task == local_task_) return pool_->Get(pool_->options_.local_task);
    ASSIGN_OR_RETURN(const std::string address, cluster_.AddressOfTask(task));
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
  local_worker_ = std::move(worker);
}

std::vector<std::string> GrpcWorkerPool::Tasks() const {
  return options_.membership != nullptr ? options_.membership->Get()->cluster.TaskNames()
                                        : options_.cluster.TaskNames();
}

absl::StatusOr<std::string> GrpcWorkerPool::AddressOf(absl::string_view task) const {
  if (options_.membership == nullptr) return options_.cluster.AddressOfTask(task);
  const auto known = options_.membership->Get();
  absl::StatusOr<std::string> address = known->cluster.AddressOfTask(task);
  if (address.ok() || known->view.epoch() == 0) return address;
  return errors::NotFound(address.status().message(), " (epoch ", known->view.epoch(), ")");
}

absl::StatusOr<std::shared_ptr<WorkerInterface>> GrpcWorkerPool::Get(absl::string_view task) {
  MutexLock lock(mu_);
  if (task == options_.local_task) {
    if (local_worker_ != nullptr) return local_worker_;
    return errors::FailedPrecondition("The worker of this task, ", task, ", is not created yet");
  }
  const int64_t version = options_.membership != nullptr ? options_.membership->version() : 0;
  Known& known = workers_[task];
  if (known.worker != nullptr && known.version == version) return known.worker;
  const absl::StatusOr<std::string> address = AddressOf(task);
  if (!address.ok() || (known.worker != nullptr && known.address != *address)) {
    DropReplaced();
    if (known.worker != nullptr) replaced_.push_back({MonotonicNow(), std::move(known.worker)});
    workers_.erase(task);
  }
  RETURN_IF_ERROR(address.status());
  Known& current = workers_[task];
  if (current.worker == nullptr) current.worker = Connect(task, *address);
  current.address = *address;
  current.version = version;
  return current.worker;
}

void GrpcWorkerPool::DropReplaced() {
  const absl::Time now = MonotonicNow();
  const auto is_free = [now](const Replaced& replaced) {
    return now - replaced.since > kKeptFor && replaced.worker.use_count() == 1;
  };
  replaced_.erase(std::remove_if(replaced_.begin(), replaced_.end(), is_free), replaced_.end());
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
