// The collectives of one task: groups, messages, and the leader's tables.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "core/mutex.h"
#include "core/rendezvous/collective.h"
#include "core/threads/busy_poller.h"
#include "core/threads/timer_queue.h"
#include "core/threads/work_queue.h"
#include "distribute/collective/collective_group.h"
#include "distribute/collective/gpu/gpu_group_member.h"
#include "distribute/collective/gpu/gpu_member_table.h"
#include "distribute/collective/group_table.h"
#include "distribute/collective/instance_table.h"
#include "distribute/collective/step_exchanges.h"
#include "distribute/collective/step_sequences.h"
#include "distribute/transport/worker_interface.h"

namespace weir {

class StepCollectives;

// The task that assigns ranks unless a session names another: the first of jobs chief, master and worker that the
// cluster has, or else its first task.
std::string DefaultCollectiveLeader(const std::vector<std::string>& tasks);

// Thread-safe. Any task can be asked to lead. Outlives the steps and calls that use it.
class TaskCollectives {
 public:
  struct Options {
    std::string task;                    // "/job:worker/replica:0/task:0"
    WorkerPool* workers = nullptr;       // outlives this
    TimerQueue* timers = nullptr;        // outlives this; null: time-outs are not enforced
    WorkQueue* work_queue = nullptr;     // for large reductions; may be null
    const BusyPoller* poller = nullptr;  // of the task's links; outlives this; may be null
    // Libraries for GPU collectives; each GPU uses the first that serves it.
    std::vector<std::shared_ptr<GpuCollectiveLibrary>> gpu_libraries;
  };
  using DoneCallback = std::function<void(absl::Status)>;
  using GroupCallback = std::function<void(absl::StatusOr<std::shared_ptr<const FormedGroup>>)>;

  explicit TaskCollectives(Options options);

  // The collectives of one step, led by `leader` (empty: the cluster's default). Calls for the same step share one
  // executor while it is referenced; its destruction ends the step here. Shortly before the earliest `deadline` its
  // ops end with DEADLINE_EXCEEDED, which names the group and the members that are missing.
  std::shared_ptr<CollectiveExecutor> NewStep(int64_t step_id, const std::string& leader,
                                              absl::Time deadline = absl::InfiniteFuture());

  // Serve other tasks' calls; see worker_service.proto.
  GroupTable& groups() { return groups_; }
  InstanceTable& instances() { return instances_; }
  StepSequences& sequences() { return sequences_; }
  // The device has been checked.
  void RecvBuf(const CallOptions& options, const RecvBufArgs& args,
               WorkerInterface::ResultCallback<ReceivedBytes> done);

  // For executors.
  const Options& options() const { return options_; }
  StepExchanges& exchanges() { return exchanges_; }
  // A request for a group by an op of a step.
  struct GroupRequest {
    std::string leader;
    CollectiveGroup group;
    std::string op_name;
    const Device* device = nullptr;  // outlives the call
    int64_t step_id = 0;
    bool begins_anew = false;  // see CollectiveParams
  };
  // Returns a known group, or asks the leader. `call.cancellation` lives until `done`. If a step that several masters
  // share failed here, its groups are formed anew: the others' part of the step may have succeeded, and they would wait
  // for this task in steps that it does not run. Their ops end with ABORTED within a second or two.
  void FindGroup(const CallOptions& call, const GroupRequest& request, GroupCallback done);
  // Asks the leader whether the formation is still current; ABORTED if not. Does not join.
  void CheckGroup(const CallOptions& call, const GroupRequest& request, const FormedGroup& group, DoneCallback done);
  // Call after a failure that may mean that members have changed.
  void ForgetGroup(const std::string& leader, const FormedGroup& group);
  // The library that serves the device; null for other devices, and if there is none.
  std::shared_ptr<GpuCollectiveLibrary> LibraryOf(const GpuDevice& gpu) const;
  // The GPU's membership in a group whose members all have its library. Callers keep it no longer than their call.
  absl::StatusOr<std::shared_ptr<GpuGroupMember>> GpuMemberOf(const std::string& leader, const FormedGroup& group,
                                                              int rank, GpuDevice& gpu);
  // Logs, once per task, that GPU collectives run on the host, and why.
  void LogGpuFallback(const GpuDevice& gpu, const absl::Status& reason);
  void FindSource(const CallOptions& call, const std::string& leader,
                  std::shared_ptr<const tensorflow::CompleteInstanceRequest> request,
                  std::function<void(absl::StatusOr<int>)> done);
  // The step's executor has been destroyed.
  void EndStep(int64_t step_id);

 private:
  using GroupId = std::pair<std::string, int32_t>;  // leader and key
  struct KnownGroup {
    std::shared_ptr<const FormedGroup> group;
    int64_t last_step = 0;    // that several masters share; 0: none has used the group
    bool is_void = false;     // that step failed
    bool began_anew = false;  // that step's op did
  };
  // A call to a group's leader; alive during it.
  struct GroupCall;
  std::shared_ptr<GroupCall> NewGroupCall(const GroupRequest& request) const;
  void Send(const CallOptions& options, const std::string& leader, const std::shared_ptr<GroupCall>& call,
            DoneCallback done);
  // True if the request must form the known group anew.
  bool IsVoid(const KnownGroup& known, const GroupRequest& request) const REQUIRES(mu_);
  // nullptr: unknown or void, and `void_formation` is the void one.
  std::shared_ptr<const FormedGroup> FindKnown(const GroupRequest& request, uint64_t* void_formation);
  void AskLeader(const CallOptions& call, const GroupRequest& request, uint64_t void_formation, GroupCallback done);
  void Learned(const GroupRequest& request, const std::shared_ptr<const FormedGroup>& group);

  const Options options_;
  GroupTable groups_;
  InstanceTable instances_;
  StepSequences sequences_;
  StepExchanges exchanges_;
  GpuMemberTable gpu_members_;
  Mutex mu_;
  bool has_said_ GUARDED_BY(mu_) = false;
  absl::flat_hash_map<int64_t, std::weak_ptr<StepCollectives>> steps_ GUARDED_BY(mu_);
  absl::flat_hash_map<GroupId, KnownGroup> known_ GUARDED_BY(mu_);
};

}  // namespace weir
