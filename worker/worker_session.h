// The state of one session on one worker.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/device/device.h"
#include "core/device/device_name.h"
#include "core/kernel/kernel_registry.h"
#include "core/kernel/python_functions.h"
#include "core/mutex.h"
#include "core/op/op_registry.h"
#include "core/status.h"
#include "weir/peer.pb.h"
#include "worker/step_table.h"

namespace tensorflow {
class GraphOptions;
}

namespace weir {

class Node;
class RegisteredGraph;

// The functions in the client's Python that a session's options name; null: none.
using PythonFunctionsOf =
    std::function<absl::StatusOr<std::shared_ptr<PythonFunctions>>(const tensorflow::GraphOptions&)>;

// Graphs by handle, stateful kernels and, if the session is isolated, devices with their own resources. Thread-safe.
class WorkerSession {
 public:
  struct Options {
    std::string handle;
    std::string master_task;
    int64_t master_incarnation = 0;
    bool isolate_state = false;
    bool deterministic = false;    // all graphs, whatever the session's options say
    DeviceName task;               // this worker's in the session's cluster
    std::vector<Device*> devices;  // outlive the session
    // Receives from the session's other tasks; empty: there are none.
    StepTable::RemoteFactory remote_rendezvous;
    const KernelRegistry* kernels = nullptr;
    PythonFunctionsOf python;  // empty: there are none
  };
  explicit WorkerSession(Options options);
  ~WorkerSession();

  const Options& options() const { return options_; }
  // The worker's devices, or this session's own.
  const std::vector<Device*>& devices() const { return devices_; }
  // By full name; nullptr if it is not on this worker.
  Device* FindDevice(absl::string_view name) const;

  // The kernel of a node on `device`. All graphs of the session share stateful kernels by name, so that a random
  // sequence, for example, continues from graph to graph.
  absl::StatusOr<std::shared_ptr<OpKernel>> Kernel(const Node& node, const OpRegistry& ops, Device* device,
                                                   FunctionRuntime* functions);

  // Returns its handle; Aborted if the session has ended.
  absl::StatusOr<std::string> AddGraph(std::shared_ptr<RegisteredGraph> graph);
  // nullptr if there is no such graph.
  std::shared_ptr<RegisteredGraph> FindGraph(absl::string_view handle) const;
  bool RemoveGraph(absl::string_view handle);
  size_t num_graphs() const;

  // `cancel` runs, with the reason, when the session ends or its steps are cancelled, unless RemoveStep comes first.
  // `waits` says what the step waits for; it may run until RemoveStep, and a moment longer. nullopt: the session has
  // ended.
  using CancelFn = std::function<void(const absl::Status& reason)>;
  using WaitsFn = std::function<std::vector<StepWait>()>;
  std::optional<int64_t> AddStep(int64_t step_id, CancelFn cancel, WaitsFn waits = nullptr);
  void RemoveStep(int64_t token);
  // The steps that run, which may be several parts of one.
  std::vector<int64_t> StepIds() const;
  // What the running ones of these steps wait for.
  std::vector<StepWait> WaitsOf(const std::vector<int64_t>& step_ids) const;
  // Cancels the steps of these ids, all if `step_ids` is null, and calls `ended` once none of them runs: at once, or on
  // the thread that removes the last.
  void EndSteps(const std::vector<int64_t>* step_ids, const absl::Status& reason, std::function<void()> ended);
  // Cancels all steps, with `reason`.
  void CancelSteps(const absl::Status& reason);
  // Ends all steps and rejects new ones.
  void End();
  bool has_ended() const;

 private:
  const Options options_;
  std::vector<std::unique_ptr<Device>> own_devices_;
  std::vector<Device*> devices_;

  mutable Mutex mu_;
  bool has_ended_ GUARDED_BY(mu_) = false;
  uint64_t next_graph_ GUARDED_BY(mu_) = 0;
  int64_t next_step_ GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<std::string, std::shared_ptr<RegisteredGraph>> graphs_ GUARDED_BY(mu_);
  absl::flat_hash_map<std::pair<const Device*, std::string>, std::shared_ptr<OpKernel>> kernels_ GUARDED_BY(mu_);
  struct RunningStep {
    int64_t step_id = 0;
    CancelFn cancel;
    WaitsFn waits;
  };
  absl::flat_hash_map<int64_t, RunningStep> steps_ GUARDED_BY(mu_);  // by token
  // Those who wait for the end of steps.
  struct Waiter {
    absl::flat_hash_set<int64_t> tokens;
    std::function<void()> ended;
  };
  std::list<Waiter> waiters_ GUARDED_BY(mu_);
};

}  // namespace weir
