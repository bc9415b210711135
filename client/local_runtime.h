// A master and a worker in this process: what Session::Local talks to.
#pragma once

#include <memory>
#include <vector>

#include "client/runtime/task_runtime.h"

namespace weir {

// The one task "/job:localhost/replica:0/task:0", without a transport.
// - `config` gives the number of CPU devices (device_count) and of threads (intra_op_parallelism_threads), and the
//   options of the GPUs in `gpus` (gpu_options, device_count).
// - Several runtimes in one process are independent.
// - Destruction cancels what runs and waits for it.
class LocalRuntime {
 public:
  static absl::StatusOr<std::unique_ptr<LocalRuntime>> Create(const tensorflow::ConfigProto& config,
                                                              const GpuPlatform& gpus);

  MasterInterface* master() { return task_->master(); }
  const std::vector<std::unique_ptr<Device>>& devices() const { return task_->devices(); }

 private:
  explicit LocalRuntime(std::unique_ptr<TaskRuntime> task) : task_(std::move(task)) {}

  const std::unique_ptr<TaskRuntime> task_;
};

}  // namespace weir
