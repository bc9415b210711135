#include "client/local_runtime.h"

#include <algorithm>

#include "distribute/collective/nccl/gpu_libraries.h"
#include "kernels/device/gpu/layout_costs.h"
#include "kernels/library.h"

namespace weir {
namespace {

constexpr char kTask[] = "/job:localhost/replica:0/task:0";

}  // namespace

class LocalRuntime::OneWorkerPool : public WorkerPool {
 public:
  void Set(std::shared_ptr<WorkerInterface> worker) { worker_ = std::move(worker); }
  std::vector<std::string> Tasks() const override { return {kTask}; }
  absl::StatusOr<std::shared_ptr<WorkerInterface>> Get(absl::string_view task) override {
    if (task == kTask) return worker_;
    return errors::NotFound("There is no task ", task, "; this process has ", kTask, " alone");
  }

 private:
  std::shared_ptr<WorkerInterface> worker_;
};

LocalRuntime::LocalRuntime() = default;

LocalRuntime::~LocalRuntime() {
  // Sessions end before the worker that runs their steps, and the worker before its devices.
  master_.reset();
  pool_.reset();
  collectives_.reset();
}

absl::StatusOr<std::unique_ptr<LocalRuntime>> LocalRuntime::Create(const tensorflow::ConfigProto& config,
                                                                   const GpuPlatform& gpus) {
  auto runtime = std::unique_ptr<LocalRuntime>(new LocalRuntime);
  RETURN_IF_ERROR(RegisterAllOps(runtime->ops_));
  RETURN_IF_ERROR(RegisterAllKernels(runtime->kernels_));
  RETURN_IF_ERROR(RegisterAllVariants(runtime->variants_));
  runtime->work_queue_ =
      WorkQueue::Create({.name = "local", .compute_threads = std::max(0, config.intra_op_parallelism_threads())});
  ASSIGN_OR_RETURN(DeviceName task, DeviceName::Parse(kTask));
  const auto count = config.device_count().find(kDeviceCpu);
  const int num_cpus = count == config.device_count().end() ? 1 : std::clamp(count->second, 1, 64);
  std::vector<Device*> devices;
  for (int i = 0; i < num_cpus; ++i) {
    runtime->devices_.push_back(NewCpuDevice(task, i, runtime->work_queue_.get()));
    devices.push_back(runtime->devices_.back().get());
  }
  ASSIGN_OR_RETURN(GpuDevices made, MakeGpuDevices(gpus, config, task, runtime->work_queue_.get()));
  for (std::unique_ptr<GpuDevice>& gpu : made.devices) {
    devices.push_back(gpu.get());
    runtime->devices_.push_back(std::move(gpu));
  }
  Master::Options master;
  master.layout_costs = MeasuredLayoutCosts(devices);
  runtime->pool_ = std::make_unique<OneWorkerPool>();
  runtime->collectives_ =
      std::make_unique<TaskCollectives>(TaskCollectives::Options{.task = kTask,
                                                                 .workers = runtime->pool_.get(),
                                                                 .timers = &runtime->timers_,
                                                                 .work_queue = runtime->work_queue_.get(),
                                                                 .gpu_libraries = GpuCollectiveLibraries()});
  ASSIGN_OR_RETURN(std::unique_ptr<Worker> worker, Worker::Create({.task = kTask,
                                                                   .devices = std::move(devices),
                                                                   .ops = &runtime->ops_,
                                                                   .kernels = &runtime->kernels_,
                                                                   .variants = &runtime->variants_,
                                                                   .timers = &runtime->timers_,
                                                                   .collectives = runtime->collectives_.get()}));
  runtime->pool_->Set(std::move(worker));
  master.local_task = kTask;
  master.workers = runtime->pool_.get();
  master.ops = &runtime->ops_;
  master.kernels = &runtime->kernels_;
  master.fold_on = runtime->devices_.front().get();
  master.step_sequences = &runtime->collectives_->sequences();
  runtime->master_ = std::make_unique<Master>(std::move(master));
  return runtime;
}

}  // namespace weir
