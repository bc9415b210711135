// An in-process master and worker, for Session::Local.
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
#include "distribute/collective/task_collectives.h"
#include "master/master.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "worker/worker.h"

namespace weir {

// The single task "/job:localhost/replica:0/task:0", assembled like a server but without a transport. `config` has the
// number of CPU devices (device_count) and threads (intra_op_parallelism_threads), and the settings for the GPUs of
// `gpus` (gpu_options, device_count). The destructor aborts running steps. Several runtimes in one process are
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
