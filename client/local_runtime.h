// A master and a worker in this process: what Session::Local talks to.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/device.h"
#include "core/gpu/gpu_devices.h"
#include "core/kernel_registry.h"
#include "core/op_registry.h"
#include "core/timer_queue.h"
#include "core/variant_registry.h"
#include "core/work_queue.h"
#include "distribute/collective/task/task_collectives.h"
#include "master/master.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "worker/worker.h"

namespace weir {

// The one task "/job:localhost/replica:0/task:0", assembled as a server assembles it but without a transport. `config`
// gives the number of CPU devices (device_count) and of threads (intra_op_parallelism_threads), and what it wants of
// the GPUs of `gpus` (gpu_options, device_count). Destruction ends what runs. Several runtimes in one process are
// independent.
class LocalRuntime {
 public:
  static absl::StatusOr<std::unique_ptr<LocalRuntime>> Create(const tensorflow::ConfigProto& config,
                                                              const GpuPlatform& gpus);
  ~LocalRuntime();

  MasterInterface* master() { return master_.get(); }
  const std::vector<std::unique_ptr<Device>>& devices() const { return devices_; }

 private:
  class OneWorkerPool;
  LocalRuntime();

  OpRegistry ops_;
  KernelRegistry kernels_;
  VariantRegistry variants_;
  TimerQueue timers_;
  std::unique_ptr<WorkQueue> work_queue_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::unique_ptr<OneWorkerPool> pool_;
  std::unique_ptr<TaskCollectives> collectives_;
  std::unique_ptr<Master> master_;
};

}  // namespace weir
