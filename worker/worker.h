// The worker of one task, which masters and other workers call.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/device/device.h"
#include "core/kernel/kernel_registry.h"
#include "core/mutex.h"
#include "core/op/op_registry.h"
#include "core/tensor/variant_registry.h"
#include "core/threads/suspension_watch.h"
#include "core/threads/timer_queue.h"
#include "distribute/collective/task/task_collectives.h"
#include "distribute/membership/cluster_membership.h"
#include "distribute/transport/worker_interface.h"
#include "worker/commit/step_outcomes.h"
#include "worker/commit/step_participation.h"
#include "worker/master_watch.h"
#include "worker/partial_run.h"
#include "worker/state_guard.h"
#include "worker/step_table.h"
#include "worker/wait_watch.h"
#include "worker/worker_metrics.h"
#include "worker/worker_session.h"

namespace weir {

// Owns sessions, their compiled graphs and the state of steps. Devices and registries belong to its owner and outlive
// it.
// - Thread-safe. RunGraph computes on the calling thread as far as possible.
// - Destruction cancels running steps and waits for them.
class Worker : public WorkerInterface {
 public:
  struct Options {
    std::string task;  // "/job:worker/replica:0/task:0"
    std::vector<Device*> devices;
    const OpRegistry* ops = nullptr;
    const KernelRegistry* kernels = nullptr;
    const VariantRegistry* variants = nullptr;   // decodes fed variants; null: they stay encoded
    StepTable::RemoteFactory remote_rendezvous;  // empty: there are no other tasks
    // Finds other tasks: coordinators of commits, and masters, whose sessions end when they are gone. Empty: the same.
    PeerFinder peers;
    ClusterMembership* membership =
        nullptr;  // adopts what masters and the registrar say; outlives the worker; may be null
    // As remote_rendezvous, for a session with a cluster of its own, in which this task is `task`; empty: such sessions
    // are UNIMPLEMENTED.
    std::function<absl::StatusOr<StepTable::RemoteFactory>(const ClusterSpec& cluster, const std::string& task)>
        cluster_rendezvous;
    absl::Duration master_lease = MasterWatch::kDefaultLease;  // for masters that do not answer
    TimerQueue* timers = nullptr;                              // for deadlines; may be null
    TaskCollectives* collectives = nullptr;                    // null: collectives are UNIMPLEMENTED
    BusyPoller* poller = nullptr;  // polled by threads that wait for other tasks; may be null
    PythonFunctionsOf python;      // empty: clients' Python functions are UNIMPLEMENTED
    bool deterministic = false;    // all graphs (graph/passes/determinism.h), whatever their sessions' options say
    // Cancels the steps of other tasks' masters when the process was suspended (core/threads/suspension_watch.h).
    bool fences_suspensions = false;
  };
  // InvalidArgument for options that do not fit together.
  static absl::StatusOr<std::unique_ptr<Worker>> Create(Options options);
  ~Worker() override;

  void GetStatusAsync(const CallOptions& options, const tensorflow::GetStatusRequest* request,
                      tensorflow::GetStatusResponse* response, DoneCallback done) override;
  void GetCapabilitiesAsync(const CallOptions& options, const GetCapabilitiesRequest* request,
                            GetCapabilitiesResponse* response, DoneCallback done) override;
  void ResolveStepAsync(const CallOptions& options, const ResolveStepRequest* request, ResolveStepResponse* response,
                        DoneCallback done) override;
  void FenceStepsAsync(const CallOptions& options, const FenceStepsRequest* request, FenceStepsResponse* response,
                       DoneCallback done) override;
  void GetStepWaitsAsync(const CallOptions& options, const GetStepWaitsRequest* request, GetStepWaitsResponse* response,
                         DoneCallback done) override;
  void CreateWorkerSessionAsync(const CallOptions& options, const tensorflow::CreateWorkerSessionRequest* request,
                                tensorflow::CreateWorkerSessionResponse* response, DoneCallback done) override;
  void DeleteWorkerSessionAsync(const CallOptions& options, const tensorflow::DeleteWorkerSessionRequest* request,
                                tensorflow::DeleteWorkerSessionResponse* response, DoneCallback done) override;
  void RegisterGraphAsync(const CallOptions& options, std::shared_ptr<const RegisterGraphArgs> args,
                          ResultCallback<std::string> done) override;
  void DeregisterGraphAsync(const CallOptions& options, const tensorflow::DeregisterGraphRequest* request,
                            tensorflow::DeregisterGraphResponse* response, DoneCallback done) override;
  void RunGraphAsync(const CallOptions& options, std::shared_ptr<const RunGraphArgs> args,
                     ResultCallback<RunGraphResult> done) override;
  void CleanupGraphAsync(const CallOptions& options, const tensorflow::CleanupGraphRequest* request,
                         tensorflow::CleanupGraphResponse* response, DoneCallback done) override;
  void CleanupAllAsync(const CallOptions& options, const tensorflow::CleanupAllRequest* request,
                       tensorflow::CleanupAllResponse* response, DoneCallback done) override;
  void RecvTensorAsync(const CallOptions& options, int64_t step_id, absl::string_view key,
                       ResultCallback<Rendezvous::Received> done) override;
  void RecvBufAsync(const CallOptions& options, std::shared_ptr<const RecvBufArgs> args,
                    ResultCallback<ReceivedBytes> done) override;
  void JoinGroupAsync(const CallOptions& options, const JoinGroupRequest* request, JoinGroupResponse* response,
                      DoneCallback done) override;
  void CompleteInstanceAsync(const CallOptions& options, const tensorflow::CompleteInstanceRequest* request,
                             tensorflow::CompleteInstanceResponse* response, DoneCallback done) override;
  void GetStepSequenceAsync(const CallOptions& options, const tensorflow::GetStepSequenceRequest* request,
                            tensorflow::GetStepSequenceResponse* response, DoneCallback done) override;
  void LoggingAsync(const CallOptions& options, const tensorflow::LoggingRequest* request,
                    tensorflow::LoggingResponse* response, DoneCallback done) override;
  void TracingAsync(const CallOptions& options, const tensorflow::TracingRequest* request,
                    tensorflow::TracingResponse* response, DoneCallback done) override;

  // Begins no more steps that use variables of the cluster's move in progress, and blocks until none runs. See
  // StateGuard::Fence.
  absl::Status FenceMove(absl::Time deadline) { return state_.Fence(deadline); }
  // Deletes the variables that other tasks hold by now, so that one that comes back never shows an old value. Returns
  // once other calls have done so, too.
  void DropMovedState(const ClusterMembership::Snapshot& cluster);
  // Of the process: that of its first device.
  uint64_t incarnation() const { return options_.devices.front()->incarnation(); }
  // Adds the variables that have a value here, as far as graphs have used them.
  void ListHeldState(ListStateResponse* response) const;

  // What running steps wait for, those of sessions that have ended included.
  std::vector<StepWait> Waits() const;
  // The steps with state on this worker; for status pages and tests.
  size_t num_open_steps() const { return steps_.size(); }
  std::shared_ptr<const WorkerMetrics> metrics() const { return metrics_; }
  void MeasureStepTimes() { metrics_->steps.MeasureTimes(); }
  // The sessions that masters have opened.
  std::vector<WorkerSessionSummary> Sessions() const;

 private:
  explicit Worker(Options options);
  // Aborted if there is no such session: the master then opens a new one.
  absl::StatusOr<std::shared_ptr<WorkerSession>> FindSession(const std::string& handle) const;
  // The open session with this handle and ended ones that still have steps, found under one lock, so that a session
  // that is ending is never missed. Aborted if there is none.
  absl::StatusOr<std::vector<std::shared_ptr<WorkerSession>>> FindSessions(const std::string& handle) const;
  absl::StatusOr<std::shared_ptr<WorkerSession>> NewSession(
      const tensorflow::CreateWorkerSessionRequest& request) const;
  // `orphans`: the master's sessions from before its restart, as far as they still have steps.
  absl::Status CreateWorkerSession(const tensorflow::CreateWorkerSessionRequest& request,
                                   std::vector<std::shared_ptr<WorkerSession>>* orphans);
  // Moves the session to those that have ended, where a fence finds it until its steps have ended. EndSession follows.
  std::shared_ptr<WorkerSession> Retire(absl::flat_hash_map<std::string, std::shared_ptr<WorkerSession>>::iterator it)
      REQUIRES(mu_);
  // Removes the sessions of other incarnations of the master.
  std::vector<std::shared_ptr<WorkerSession>> OrphanSessionsOf(const std::string& master, int64_t incarnation)
      REQUIRES(mu_);
  absl::StatusOr<WorkerStep::Options> StepOptions(const CallOptions& options, const RunGraphArgs& args);
  absl::StatusOr<StepRendezvous> OpenStep(int64_t step_id, const WorkerSession& session);
  // The step's feeds, checked and decoded. Opens its rendezvous if it has transfers.
  absl::StatusOr<std::vector<Tensor>> PrepareStep(const RunGraphArgs& args, WorkerStep::Options* step);
  // `start` is for the metrics.
  void RunWhole(std::shared_ptr<const RunGraphArgs> args, WorkerStep::Options step, absl::Time start,
                ResultCallback<RunGraphResult> done);
  void RunPartial(const CallOptions& options, std::shared_ptr<const RunGraphArgs> args, WorkerStep::Options step,
                  ResultCallback<RunGraphResult> done);
  absl::Status CheckReceiveKey(absl::string_view key) const;
  // Whether this worker is `task` in a session's cluster.
  bool ServesAs(const DeviceName& task) const;
  // Checks that `method` may send from `device`, and that the caller knows its current incarnation.
  absl::Status CheckSource(absl::string_view method, const DeviceName& device, uint64_t incarnation) const;
  absl::Status CheckCollectives() const;
  // Whether the master of the session is another task, which may have taken this one for dead.
  bool IsOfOtherMaster(const WorkerSession& session) const { return session.options().master_task != options_.task; }
  // Unavailable if a session of a later start of the same master is open.
  absl::Status CheckMasterIsCurrent(const tensorflow::CreateWorkerSessionRequest& request) const REQUIRES(mu_);
  // DEADLINE_EXCEEDED, with what these steps (null: all) of the sessions wait for.
  absl::Status StillRunning(const std::vector<std::shared_ptr<WorkerSession>>& sessions,
                            const std::vector<int64_t>* step_ids) const;
  // Ends the session and frees its steps, also those that no master will clean up.
  void EndSession(const std::shared_ptr<WorkerSession>& session);
  // The masters of other tasks that have sessions here.
  std::vector<MasterWatch::Master> OtherMasters() const;
  void WatchMasters();
  // The users of the devices' objects.
  std::vector<std::shared_ptr<ResourceUsers>> Users() const;
  std::vector<std::shared_ptr<WorkerSession>> SessionsOf(const std::string& master) const;
  void MasterIsGone(const MasterWatch::Master& master, const std::string& reason);
  void StoodStill(absl::Duration gap);
  // The container in which this task has, or would have, the variable.
  std::string ContainerHere(const StateKey& key) const;
  // The device on which this task has, or would have, the variable; null: there is none.
  Device* DeviceOf(const StateKey& key) const;
  bool HasValue(const StateKey& key) const;
  bool HasTable(const StateKey& key) const;
  void KeepStats(int64_t step_id, const tensorflow::StepStats& stats);

  const Options options_;
  const DeviceName task_;
  std::atomic<bool> is_ending_{false};
  const std::shared_ptr<WorkerMetrics> metrics_ = std::make_shared<WorkerMetrics>();
  StepOutcomes outcomes_;
  StateGuard state_{options_.task, options_.devices.front()->incarnation(), options_.membership};
  Mutex drop_mu_;  // the outer lock, held by DropMovedState
  StepTable steps_;
  ActiveCount active_;
  mutable Mutex mu_;
  absl::flat_hash_map<std::string, std::shared_ptr<WorkerSession>> sessions_ GUARDED_BY(mu_);
  absl::flat_hash_map<int64_t, std::shared_ptr<PartialRun>> partial_runs_ GUARDED_BY(mu_);  // by step
  std::vector<std::weak_ptr<WorkerSession>> ended_ GUARDED_BY(mu_);  // as long as they have steps
  bool keeps_stats_ GUARDED_BY(mu_) = false;
  std::deque<std::pair<int64_t, tensorflow::StepStats>> kept_stats_ GUARDED_BY(mu_);
  std::unique_ptr<MasterWatch> masters_;
  std::unique_ptr<WaitWatch> waits_;
  std::unique_ptr<SuspensionWatch>
      suspension_;  // destroyed first, after all steps: they check it, and its thread uses the rest
};

}  // namespace weir
