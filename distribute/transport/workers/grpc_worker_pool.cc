#include "distribute/transport/workers/grpc_worker_pool.h"

#include <utility>

#include "absl/strings/str_join.h"
#include "distribute/transport/polling_threads.h"
#include "distribute/transport/workers/remote_worker.h"

namespace weir {

GrpcWorkerPool::GrpcWorkerPool(Options options)
    : options_(std::move(options)), threads_(std::make_unique<PollingThreads>(&queue_, PollingThreads::Options())) {}

GrpcWorkerPool::~GrpcWorkerPool() {
  queue_.Shutdown();
  threads_.reset();
}

void GrpcWorkerPool::SetLocalWorker(std::shared_ptr<WorkerInterface> worker) {
  MutexLock lock(mu_);
  workers_[options_.local_task] = std::move(worker);
}

absl::StatusOr<std::shared_ptr<WorkerInterface>> GrpcWorkerPool::Get(absl::string_view task) {
  MutexLock lock(mu_);
  auto found = workers_.find(task);
  if (found != workers_.end()) return found->second;
  ASSIGN_OR_RETURN(std::shared_ptr<WorkerInterface> worker, Connect(task));
  workers_.emplace(task, worker);
  return worker;
}

absl::StatusOr<std::shared_ptr<WorkerInterface>> GrpcWorkerPool::Connect(absl::string_view task) {
  for (const auto& [job, tasks] : options_.cluster.jobs()) {
    for (const auto& [index, address] : tasks) {
      if (TaskName(job, index) != task) continue;
      if (task == options_.local_task) {
        return errors::FailedPrecondition("The worker of this task, ", task, ", is not created yet");
      }
      GrpcChannelOptions channel = options_.channel;
      channel.address = address;
      channel.task = std::string(task);
      channel.local_task = options_.local_task;
      return std::shared_ptr<WorkerInterface>(std::make_shared<RemoteWorker>(std::move(channel), &queue_));
    }
  }
  return errors::NotFound("The cluster has no task '", task, "'; it has ", absl::StrJoin(Tasks(), ", "));
}

}  // namespace weir
