// The parts of one task that do not depend on its transport, assembled once for servers and for local sessions.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/device/device.h"
#include "core/gpu/gpu_devices.h"
#include "core/kernel/kernel_registry.h"
#include "core/op/op_registry.h"
#include "core/tensor/variant_registry.h"
#include "core/threads/busy_poller.h"
#include "core/threads/timer_queue.h"
#include "core/threads/work_queue.h"
#include "distribute/collective/task/task_collectives.h"
#include "graph/passes/mixed_precision_lists.h"
#include "master/master.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "worker/worker.h"

namespace weir {

// Registries, work queue, devices, collectives, worker and master of one task.
// - Thread-safe. Runtimes share nothing but the registries that Options may name: several in one process work.
// - Owns the worker pool, whose calls end after those of master, worker and collectives and before the devices.
// - Destruction cancels what runs and waits for it.
class TaskRuntime {
 public:
  struct Options {
    std::string task;  // "/job:worker/replica:0/task:0"
    WorkQueue::Options threads;
    int cpu_devices = 1;             // CPU:0, CPU:1 …; they share the threads
    int64_t cpu_memory_limit = 0;    // reported only
    tensorflow::ConfigProto config;  // device_count["GPU"] and gpu_options are read
    GpuPlatform gpus;
    MixedPrecisionSettings mixed_precision;  // for sessions of this master
    // Makes the sessions of this master, all graphs of this worker and the libraries of its GPUs deterministic
    // (docs/determinism.md).
    bool deterministic = false;
    std::unique_ptr<WorkerPool> workers;
    // Makes `workers` return this task's worker; runs before any other part calls the pool.
    std::function<void(std::shared_ptr<WorkerInterface> worker)> set_local_worker;
    bool has_peers = false;  // tensors may come from other tasks of `workers`
    // The tasks of `workers`, which may change; outlives the runtime; null: they are constant.
    ClusterMembership* membership = nullptr;
    absl::Duration master_lease = MasterWatch::kDefaultLease;  // Worker::Options
    ClusterWorkers cluster_workers;     // for sessions with clusters of their own; empty: there are none
    PythonFunctionsOf python;           // Worker::Options
    BusyPoller* poller = nullptr;       // of the links to other tasks; outlives the runtime; may be null
    SessionJournal* journal = nullptr;  // of the master's sessions; outlives the runtime; may be null
    // Outlive the runtime; null: it makes its own, with every op and kernel of this build.
    const OpRegistry* ops = nullptr;
    const KernelRegistry* kernels = nullptr;
  };

  static absl::StatusOr<std::unique_ptr<TaskRuntime>> Create(Options options);
  ~TaskRuntime() { Stop(); }
  TaskRuntime(const TaskRuntime&) = delete;

  Master* master() const { return master_.get(); }
  Worker* worker() const { return worker_.get(); }
  TimerQueue* timers() { return &timers_; }
  const std::vector<std::unique_ptr<Device>>& devices() const { return devices_; }
  std::vector<Device*> DevicePointers() const;
  // Why the task has no GPUs; empty: it has some.
  const std::string& no_gpu_reason() const { return no_gpu_reason_; }

  // Destroys the master, then the worker: their calls to other tasks have ended when it returns. Later calls do
  // nothing.
  void Stop();
  // Of these, the first.
  void StopMaster();

 private:
  explicit TaskRuntime(std::string task) : task_(std::move(task)) {}
  absl::Status MakeRegistries(const Options& options);
  absl::Status MakeDevices(const Options& options);
  // Makes the rendezvous of steps in which this task is `task`, one of `workers`.
  StepTable::RemoteFactory RemoteRendezvousOf(std::string task, std::shared_ptr<WorkerPool> workers) const;
  absl::Status MakeWorker(const Options& options);
  void MakeMaster(const Options& options);

  // In the order in which they need each other.
  const std::string task_;
  std::unique_ptr<OpRegistry> own_ops_;
  std::unique_ptr<KernelRegistry> own_kernels_;
  const OpRegistry* ops_ = nullptr;
  const KernelRegistry* kernels_ = nullptr;
  VariantRegistry variants_;
  TimerQueue timers_;
  std::unique_ptr<WorkQueue> work_queue_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::string no_gpu_reason_;
  std::unique_ptr<WorkerPool> workers_;
  std::unique_ptr<TaskCollectives> collectives_;
  std::unique_ptr<Worker> worker_;
  std::unique_ptr<Master> master_;
};

}  // namespace weir
