// The collectives of one task: groups, messages, and what the leader of the cluster's collectives does.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "core/busy_poller.h"
#include "core/collective.h"
#include "core/mutex.h"
#include "core/timer_queue.h"
#include "core/work_queue.h"
#include "distribute/collective/collective_group.h"
#include "distribute/collective/gpu/gpu_group_member.h"
#include "distribute/collective/group_table.h"
#include "distribute/collective/instance_table.h"
#include "distribute/collective/step_exchanges.h"
#include "distribute/collective/step_sequences.h"
#include "distribute/transport/worker_interface.h"

namespace weir {

// The task that numbers the members of groups where nobody says which: the first of jobs chief, master and worker that
// the cluster has, or else its first task.
std::string DefaultCollectiveLeader(const std::vector<std::string>& tasks);

// Thread-safe. Any task may be leader: it is whoever is asked. Outlives the steps and calls that use it.
class TaskCollectives {
 public:
  struct Options {
    std::string task;                    // "/job:worker/replica:0/task:0"
    WorkerPool* workers = nullptr;       // outlives this
    TimerQueue* timers = nullptr;        // outlives this; may be null: then time-outs are not kept
    WorkQueue* work_queue = nullptr;     // for large reductions; may be null
    const BusyPoller* poller = nullptr;  // of the task's links; outlives this; may be null
    // By which GPUs exchange tensors; each GPU takes the first that serves it.
    std::vector<std::shared_ptr<GpuCollectiveLibrary>> gpu_libraries;
  };
  using GroupCallback = std::function<void(absl::StatusOr<std::shared_ptr<const FormedGroup>>)>;

  explicit TaskCollectives(Options options);

  // Collectives of one step, led by `leader` (empty: the cluster's default). Whoever asks while somebody has the step's
  // executor gets that one; when it goes the step has ended here.
  std::shared_ptr<CollectiveExecutor> NewStep(int64_t step_id, const std::string& leader);

  // What other tasks ask for; see worker_service.proto.
  GroupTable& groups() { return groups_; }
  InstanceTable& instances() { return instances_; }
  StepSequences& sequences() { return sequences_; }
  // The device has been checked.
  void RecvBuf(const CallOptions& options, const RecvBufArgs& args,
               WorkerInterface::ResultCallback<ReceivedBytes> done);

  // For executors.
  const Options& options() const { return options_; }
  StepExchanges& exchanges() { return exchanges_; }
  // From memory, or from the leader. `call.cancellation` lives until `done`.
  void FindGroup(const CallOptions& call, const std::string& leader, const CollectiveGroup& group,
                 const std::string& op_name, const Device& device, GroupCallback done);
  // From the leader, whatever is remembered. While the group is forming, the device joins it.
  void AskForGroup(const CallOptions& call, const std::string& leader, const CollectiveGroup& group,
                   const std::string& op_name, const Device& device, GroupCallback done);
  // After a failure that may mean that members have changed.
  void ForgetGroup(const std::string& leader, const FormedGroup& group);
  // The library that serves the device; null for other devices, and where there is none.
  std::shared_ptr<GpuCollectiveLibrary> LibraryOf(const GpuDevice& gpu) const;
  // The GPU's place in a group all of whose members have its library. Kept until the group is formed anew. Nobody keeps
  // it longer than its call.
  absl::StatusOr<std::shared_ptr<GpuGroupMember>> GpuMemberOf(const std::string& leader, const FormedGroup& group,
                                                              int rank, GpuDevice& gpu);
  // Logs once in the task's life that collectives of GPUs go through the host, and why.
  void SayThatGpusGoThroughTheHost(const GpuDevice& gpu, const absl::Status& reason);
  void FindSource(const CallOptions& call, const std::string& leader,
                  std::shared_ptr<const tensorflow::CompleteInstanceRequest> request,
                  std::function<void(absl::StatusOr<int>)> done);
  // The step's executor is gone.
  void EndStep(int64_t step_id);

 private:
  using GroupId = std::pair<std::string, int32_t>;  // leader and key
  struct GpuPlace {
    uint64_t formation = 0;
    std::shared_ptr<GpuGroupMember> member;
  };

  const Options options_;
  GroupTable groups_;
  InstanceTable instances_;
  StepSequences sequences_;
  StepExchanges exchanges_;
  Mutex mu_;
  bool has_said_ GUARDED_BY(mu_) = false;
  absl::flat_hash_map<int64_t, std::weak_ptr<CollectiveExecutor>> steps_ GUARDED_BY(mu_);
  absl::flat_hash_map<GroupId, std::shared_ptr<const FormedGroup>> known_ GUARDED_BY(mu_);
  absl::flat_hash_map<std::pair<GroupId, std::string>, GpuPlace> gpu_places_ GUARDED_BY(mu_);  // by device too
  std::vector<std::shared_ptr<GpuGroupMember>> former_places_ GUARDED_BY(mu_);                 // until they are unused
};

}  // namespace weir
