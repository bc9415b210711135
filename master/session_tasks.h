// The tasks of one session: devices, incarnations, and what to do after a restart of a task.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/device/device.h"
#include "core/device/device_name.h"
#include "core/mutex.h"
#include "core/status.h"
#include "distribute/membership/cluster_membership.h"
#include "distribute/transport/worker_interface.h"
#include "master/master_metrics.h"
#include "master/session_cluster.h"
#include "tensorflow/core/framework/device_attributes.pb.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace weir {

// Thread-safe. Connect, FollowCluster, Refresh, EndUnsettledSteps, Probe and CleanupAll block for calls to the tasks.
class SessionTasks {
 public:
  struct Options {
    WorkerPool* workers = nullptr;  // outlives this
    std::string local_task;         // the master's own: its devices are preferred
    // The tasks of `workers`, which may change; outlives this; null: they are constant.
    ClusterMembership* membership = nullptr;
    std::optional<SessionCluster> cluster;    // the session's own; nullopt: the one that the tasks were started with
    std::vector<std::string> device_filters;  // empty: every task
    std::string session_handle;
    bool isolate_session_state = false;
    absl::Duration call_timeout = absl::Seconds(5);
  };
  struct Task {
    std::shared_ptr<WorkerInterface> worker;
    std::vector<tensorflow::DeviceAttributes> devices;
    uint64_t incarnation = 0;  // of its first device; 0 if it was never reached
    GetCapabilitiesResponse capabilities;
  };

  explicit SessionTasks(Options options) : options_(std::move(options)) {}

  // Gets every task's devices and opens a worker session there. Waits for tasks that are not up yet; DEADLINE_EXCEEDED
  // names those still missing at the deadline.
  absl::Status Connect(const CallOptions& call);
  // Grows when tasks have joined or left: FollowCluster then learns of it. Cheap.
  int64_t cluster_version() const { return options_.membership != nullptr ? options_.membership->version() : 0; }
  struct Changes {
    bool joined = false;
    bool left = false;
    bool replaced = false;  // a task has another process, under another address
    bool missing = false;   // a task joined and does not answer yet
  };
  // Forgets tasks that have left the cluster, opens worker sessions on those that have joined, and tells all others of
  // them.
  absl::Status FollowCluster(Changes* changes);
  // Asks every task again. A task with a new incarnation gets a new worker session and sets `changed`, even if another
  // task then fails; with `reopen`, because a task has lost its session, so does every task that answers. Tasks that do
  // not answer keep their known state. `metrics` (may be null) counts the sessions that were opened again.
  absl::Status Refresh(bool* changed, bool reopen = false, MasterMetrics* metrics = nullptr);
  // The step failed, and its updates may still take effect on these tasks.
  void AddUnsettledStep(int64_t step_id, const std::vector<std::string>& tasks);
  // Whether there is such a step on any task. Cheap.
  bool has_unsettled() const { return has_unsettled_.load(std::memory_order_relaxed); }
  // Ends such steps on these tasks. UNAVAILABLE names a task that does not confirm it within the call timeout, and says
  // why. Other tasks are not asked.
  absl::Status EndUnsettledSteps(const std::vector<std::string>& tasks);
  // The devices of every task, without opening sessions. UNAVAILABLE names a task that does not answer.
  absl::StatusOr<std::vector<tensorflow::DeviceAttributes>> Probe(const CallOptions& call) const;
  // Clears the named containers (the default one if none is named) on every task that answers; the error names one that
  // does not.
  absl::Status CleanupAll(const CallOptions& call, const std::vector<std::string>& containers) const;
  // Closes the worker sessions on tasks that answer within the call timeout.
  void Disconnect();

  // Sessions use tasks that have been replaced, too. Called before Connect.
  void UseReplacedTasks() { uses_replaced_ = true; }

  const std::string& local_task() const { return options_.local_task; }
  absl::StatusOr<Task> Find(absl::string_view task) const;
  // Incarnation of a device by its full name; 0 if there is no such device.
  uint64_t DeviceIncarnation(absl::string_view device) const;
  // All devices: the local task's first, GPUs before CPUs within a task. Those of tasks that left and have a successor
  // come last, under their old names: graphs may name them.
  std::vector<DeviceName> PlacementOrder() const;
  std::vector<tensorflow::DeviceAttributes> Devices() const;
  // The tasks that have the wire ops of this build's version.
  absl::flat_hash_set<std::string> TasksWithWireOps() const;
  // The tasks that take part in the commit of steps.
  absl::flat_hash_set<std::string> TasksWithCommit() const;
  // Tasks that get no new work if another can do it.
  absl::flat_hash_set<std::string> DrainingTasks() const;
  // The first CPU of the local task, for feeds and fetches of nodes without a device.
  std::string ClientDevice() const;

 private:
  std::vector<std::string> FilteredTasks() const;
  // Calls the tasks concurrently, as all functions here do that call several.
  std::vector<absl::StatusOr<Task>> Ask(const std::vector<std::string>& tasks, absl::Duration timeout) const;
  // Opens sessions on the tasks that were found, and asks for their capabilities. Tasks with an error keep it.
  std::vector<absl::Status> OpenWorkerSessions(const std::vector<std::string>& tasks,
                                               std::vector<absl::StatusOr<Task>>* found) const;
  bool PassesFilter(absl::string_view task) const;
  // Forgets tasks that have left; says whether there were any.
  bool ForgetTasksThatLeft();
  // Tells the tasks what the cluster is; those that answer know it then.
  void ShareView(const std::vector<std::string>& tasks) const;
  // Adopts the view of a task that knows of more changes.
  void Learn(const GetCapabilitiesResponse& answer) const;
  void AddDevicesOfSuccessors(std::vector<DeviceName>* devices) const;
  // Removes those that are not in the cluster any more, or out of use.
  void KeepMembers(std::vector<std::string>* tasks) const;
  // Whether nodes that name the task run on another, and it does not stand by for any.
  bool IsOutOfUse(const std::string& task) const;
  // Ends the first kMaxFencedSteps unsettled steps on each task. Sets `more` if some are left on a task that answered.
  absl::Status Fence(const std::vector<std::string>& tasks, bool* more);
  // The steps of the request, all if it is null, have ended on the task.
  void Settle(const std::string& task, const FenceStepsRequest* fenced) REQUIRES(mu_);

  const Options options_;
  bool uses_replaced_ = false;
  uint64_t master_incarnation_ = 0;  // of the local task; set by Connect
  mutable Mutex mu_;
  absl::btree_map<std::string, Task> tasks_ GUARDED_BY(mu_);
  absl::btree_map<std::string, std::vector<int64_t>> unsettled_ GUARDED_BY(mu_);  // steps by task
  std::atomic<bool> has_unsettled_{false};
};

}  // namespace weir
