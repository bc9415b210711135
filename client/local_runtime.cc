#include "client/local_runtime.h"

#include <algorithm>
#include <utility>

#include "graph/passes/determinism.h"

namespace weir {
namespace {

constexpr char kTask[] = "/job:localhost/replica:0/task:0";
constexpr int kMaxCpuDevices = 64;

class OneWorkerPool : public WorkerPool {
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

int NumCpuDevices(const tensorflow::ConfigProto& config) {
  const auto count = config.device_count().find(kDeviceCpu);
  return count == config.device_count().end() ? 1 : std::clamp(count->second, 1, kMaxCpuDevices);
}

}  // namespace

absl::StatusOr<std::unique_ptr<LocalRuntime>> LocalRuntime::Create(const tensorflow::ConfigProto& config,
                                                                   const GpuPlatform& gpus) {
  auto pool = std::make_unique<OneWorkerPool>();
  OneWorkerPool* const workers = pool.get();
  TaskRuntime::Options options;
  options.task = kTask;
  options.threads = {.name = "local", .compute_threads = std::max(0, config.intra_op_parallelism_threads())};
  options.cpu_devices = NumCpuDevices(config);
  options.config = config;
  options.gpus = gpus;
  ASSIGN_OR_RETURN(options.deterministic, AsksForDeterministicOps(config.graph_options()));
  options.workers = std::move(pool);
  options.set_local_worker = [workers](auto worker) { workers->Set(std::move(worker)); };
  ASSIGN_OR_RETURN(std::unique_ptr<TaskRuntime> task, TaskRuntime::Create(std::move(options)));
  return std::unique_ptr<LocalRuntime>(new LocalRuntime(std::move(task)));
}

}  // namespace weir
