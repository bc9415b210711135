#include "client/runtime/task_runtime.h"

#include <utility>

#include "distribute/collective/nccl/gpu_libraries.h"
#include "distribute/transport/remote_rendezvous.h"
#include "graph/passes/determinism.h"
#include "kernels/device/gpu/layout_costs.h"
#include "kernels/library.h"

namespace weir {
namespace {

constexpr int kMaxCpuDevices = 64;

// The platform with deterministic libraries.
GpuPlatform Deterministic(GpuPlatform platform) {
  platform.math = [math = std::move(platform.math)]() -> absl::StatusOr<GpuMathSettings> {
    GpuMathSettings settings;
    if (math) {
      ASSIGN_OR_RETURN(settings, math());
    }
    settings.deterministic = true;
    return settings;
  };
  return platform;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TaskRuntime>> TaskRuntime::Create(Options options) {
  std::unique_ptr<TaskRuntime> runtime(new TaskRuntime(options.task));
  runtime->workers_ = std::move(options.workers);
  RETURN_IF_ERROR(runtime->MakeRegistries(options));
  RETURN_IF_ERROR(runtime->MakeDevices(options));
  RETURN_IF_ERROR(runtime->MakeWorker(options));
  runtime->MakeMaster(options);
  return runtime;
}

void TaskRuntime::StopMaster() { master_.reset(); }

void TaskRuntime::Stop() {
  StopMaster();
  worker_.reset();
}

std::vector<Device*> TaskRuntime::DevicePointers() const {
  std::vector<Device*> devices;
  for (const auto& device : devices_) devices.push_back(device.get());
  return devices;
}

absl::Status TaskRuntime::MakeRegistries(const Options& options) {
  if (options.ops == nullptr) {
    own_ops_ = std::make_unique<OpRegistry>();
    RETURN_IF_ERROR(RegisterAllOps(*own_ops_));
  }
  if (options.kernels == nullptr) {
    own_kernels_ = std::make_unique<KernelRegistry>();
    RETURN_IF_ERROR(RegisterAllKernels(*own_kernels_));
  }
  ops_ = options.ops != nullptr ? options.ops : own_ops_.get();
  kernels_ = options.kernels != nullptr ? options.kernels : own_kernels_.get();
  return RegisterAllVariants(variants_);
}

absl::Status TaskRuntime::MakeDevices(const Options& options) {
  if (options.cpu_devices < 1 || options.cpu_devices > kMaxCpuDevices) {
    return errors::InvalidArgument("A task has 1 to ", kMaxCpuDevices, " CPU devices, not ", options.cpu_devices);
  }
  work_queue_ = WorkQueue::Create(options.threads);
  ASSIGN_OR_RETURN(const DeviceName task, DeviceName::Parse(task_));
  for (int i = 0; i < options.cpu_devices; ++i) {
    devices_.push_back(NewCpuDevice(task, i, work_queue_.get(), options.cpu_memory_limit));
  }
  const GpuPlatform platform = options.deterministic ? Deterministic(options.gpus) : options.gpus;
  ASSIGN_OR_RETURN(GpuDevices made, MakeGpuDevices(platform, options.config, task, work_queue_.get()));
  if (made.devices.empty()) no_gpu_reason_ = made.reason;
  for (std::unique_ptr<GpuDevice>& gpu : made.devices) devices_.push_back(std::move(gpu));
  return absl::OkStatus();
}

StepTable::RemoteFactory TaskRuntime::RemoteRendezvousOf(std::string task, std::shared_ptr<WorkerPool> workers) const {
  return [this, task = std::move(task), workers = std::move(workers)](int64_t step_id, const StepRendezvous& step) {
    return NewRemoteRendezvous({step_id, task, step.local, workers, &variants_, step.log});
  };
}

absl::Status TaskRuntime::MakeWorker(const Options& options) {
  collectives_ = std::make_unique<TaskCollectives>(TaskCollectives::Options{.task = task_,
                                                                            .workers = workers_.get(),
                                                                            .timers = &timers_,
                                                                            .work_queue = work_queue_.get(),
                                                                            .poller = options.poller,
                                                                            .gpu_libraries = GpuCollectiveLibraries()});
  Worker::Options worker{.task = task_,
                         .devices = DevicePointers(),
                         .ops = ops_,
                         .kernels = kernels_,
                         .variants = &variants_,
                         .timers = &timers_,
                         .collectives = collectives_.get(),
                         .poller = options.poller,
                         .python = options.python,
                         .deterministic = options.deterministic,
                         .fences_suspensions = options.has_peers};
  if (options.has_peers) {
    // The runtime's pool outlives all rendezvous.
    worker.remote_rendezvous =
        RemoteRendezvousOf(task_, std::shared_ptr<WorkerPool>(std::shared_ptr<void>(), workers_.get()));
    worker.peers = [workers = workers_.get()](absl::string_view task) { return workers->Get(task); };
    worker.master_lease = options.master_lease;
    worker.membership = options.membership;
  }
  if (options.cluster_workers) {
    worker.cluster_rendezvous = [this, workers_of = options.cluster_workers](
                                    const ClusterSpec& cluster,
                                    const std::string& task) -> absl::StatusOr<StepTable::RemoteFactory> {
      ASSIGN_OR_RETURN(std::shared_ptr<WorkerPool> workers, workers_of(cluster, task));
      return RemoteRendezvousOf(task, std::move(workers));
    };
  }
  ASSIGN_OR_RETURN(worker_, Worker::Create(std::move(worker)));
  // The pool must not keep the worker, which calls through the pool, alive.
  options.set_local_worker(std::shared_ptr<WorkerInterface>(std::shared_ptr<void>(), worker_.get()));
  return absl::OkStatus();
}

void TaskRuntime::MakeMaster(const Options& options) {
  tensorflow::ConfigProto sessions;
  if (options.deterministic) AskForDeterministicOps(&sessions);
  master_ = std::make_unique<Master>(Master::Options{.local_task = task_,
                                                     .workers = workers_.get(),
                                                     .membership = options.membership,
                                                     .cluster_workers = options.cluster_workers,
                                                     .ops = ops_,
                                                     .kernels = kernels_,
                                                     .fold_on = devices_.front().get(),
                                                     .mixed_precision = options.mixed_precision,
                                                     .layout_costs = MeasuredLayoutCosts(DevicePointers()),
                                                     .step_sequences = &collectives_->sequences(),
                                                     .poller = options.poller,
                                                     .default_config = std::move(sessions),
                                                     .journal = options.journal});
}

}  // namespace weir
