// The master of one task: the sessions of its clients.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/time/time.h"
#include "core/kernel/kernel_registry.h"
#include "core/mutex.h"
#include "core/threads/busy_poller.h"
#include "core/threads/timer_queue.h"
#include "distribute/transport/master_interface.h"
#include "master/health_monitor.h"
#include "master/master_metrics.h"
#include "master/master_session.h"
#include "master/session_summary.h"

namespace weir {

// Thread-safe. Any task of a cluster can be master; sessions of different masters share the workers' variables. With a
// journal, sessions outlive the process: the first call that names one of an earlier master connects it to its tasks
// again.
class Master : public MasterInterface {
 public:
  struct Options {
    std::string local_task;         // "/job:worker/replica:0/task:0"
    WorkerPool* workers = nullptr;  // outlives the master
    // The tasks of `workers`, which may change; outlives the master; null: they are constant.
    ClusterMembership* membership = nullptr;
    ClusterWorkers cluster_workers;  // for sessions with a cluster_def; empty: it is ignored
    const OpRegistry* ops = nullptr;
    const KernelRegistry* kernels = nullptr;
    Device* fold_on = nullptr;               // folds constants during graph preparation; nullptr: they are not folded
    MixedPrecisionSettings mixed_precision;  // for graphs of sessions that enable it
    std::shared_ptr<const LayoutCosts>
        layout_costs;                         // for graphs of sessions that enable layout conversion; may be null
    StepSequences* step_sequences = nullptr;  // of the task's collectives; outlives the master
    BusyPoller* poller = nullptr;  // polled by threads that wait for other tasks; outlives the master; may be null
    tensorflow::ConfigProto default_config;
    // How long CreateSession waits for tasks that are not up, if the call has no deadline.
    absl::Duration connect_timeout = absl::Minutes(10);
    HealthMonitor::Options health;      // running_steps is set by the master
    SessionJournal* journal = nullptr;  // of the sessions; outlives the master; null: they are lost with it
    // How long a call waits for the tasks of a session of an earlier master.
    absl::Duration adoption_timeout = absl::Seconds(30);
    // Sessions of an earlier master that no call has named for this long are dropped when another one is created.
    absl::Duration adoption_window = absl::Hours(1);
  };

  explicit Master(Options options);
  ~Master() override;

  absl::Status CreateSession(const CallOptions& options, const tensorflow::CreateSessionRequest& request,
                             tensorflow::CreateSessionResponse* response) override;
  absl::Status ExtendSession(const CallOptions& options, const tensorflow::ExtendSessionRequest& request,
                             tensorflow::ExtendSessionResponse* response) override;
  absl::Status PartialRunSetup(const CallOptions& options, const tensorflow::PartialRunSetupRequest& request,
                               tensorflow::PartialRunSetupResponse* response) override;
  absl::StatusOr<RunStepResult> RunStep(const CallOptions& options, const RunStepArgs& args) override;
  absl::Status CloseSession(const CallOptions& options, const tensorflow::CloseSessionRequest& request,
                            tensorflow::CloseSessionResponse* response) override;
  absl::Status ListDevices(const CallOptions& options, const tensorflow::ListDevicesRequest& request,
                           tensorflow::ListDevicesResponse* response) override;
  absl::Status Reset(const CallOptions& options, const tensorflow::ResetRequest& request,
                     tensorflow::ResetResponse* response) override;
  absl::Status MakeCallable(const CallOptions& options, const tensorflow::MakeCallableRequest& request,
                            tensorflow::MakeCallableResponse* response) override;
  absl::StatusOr<RunStepResult> RunCallable(const CallOptions& options, const RunCallableArgs& args) override;
  absl::Status ReleaseCallable(const CallOptions& options, const tensorflow::ReleaseCallableRequest& request,
                               tensorflow::ReleaseCallableResponse* response) override;

  // Ends the session's partial runs that no call is waiting for: their client is gone, but their graphs may still run.
  void EndPartialRuns(const std::string& session_handle);

  // Records steps of this master's sessions.
  StepTracer* tracer() { return &tracer_; }
  // For monitoring.
  std::shared_ptr<const MasterMetrics> metrics() const { return metrics_; }
  void MeasureStepTimes() { metrics_->steps.MeasureTimes(); }
  std::vector<SessionSummary> Sessions() const;
  // The steps that have been running for longest and for a moment at least, at most `most`. Their tasks have until
  // `deadline` to say what they wait for.
  std::vector<StepSummary> LongestSteps(size_t most, absl::Time deadline) const;
  // See MasterSession. For all sessions.
  absl::Status HoldMove(absl::Time deadline);
  // Ends steps that wait for a task which the cluster's registrar has found lost, and for which another stood by: its
  // connections may be open still.
  void EndStepsOfLostTasks(const MovedState& state) const;
  void ListState(ListStateResponse* response) const;
  // The graph of the session with that number, as it is now. NotFound if there is none.
  absl::StatusOr<std::shared_ptr<const Graph>> SessionGraph(int64_t session) const;

 private:
  // Adopts a session of an earlier master.
  absl::StatusOr<std::shared_ptr<MasterSession>> Find(const CallOptions& call, const std::string& handle);
  // Reserves a session of an earlier master for its adoption by this call; else returns the session, or an error.
  absl::StatusOr<std::shared_ptr<MasterSession>> FindOrReserve(const CallOptions& call, const std::string& handle);
  absl::StatusOr<std::shared_ptr<MasterSession>> Adopt(const CallOptions& call, const std::string& handle);
  absl::StatusOr<std::shared_ptr<MasterSession>> NewSession(const std::string& handle,
                                                            const tensorflow::CreateSessionRequest& request);
  void DropUnclaimed();
  std::vector<std::shared_ptr<MasterSession>> OpenSessions() const;
  std::vector<std::shared_ptr<Step>> RunningSteps(absl::Time before) const;

  const Options options_;
  const std::shared_ptr<MasterMetrics> metrics_ = std::make_shared<MasterMetrics>();
  TimerQueue timers_;
  StepTracer tracer_;
  std::atomic<int64_t> last_session_{0};  // numbers sessions
  mutable Mutex mu_;
  absl::flat_hash_map<std::string, std::shared_ptr<MasterSession>> sessions_ GUARDED_BY(mu_);
  // Sessions of earlier masters that were not adopted yet, and those of them that a call is adopting.
  absl::flat_hash_set<std::string> recorded_ GUARDED_BY(mu_), adopting_ GUARDED_BY(mu_);
  std::condition_variable adopted_;
  const absl::Time start_;
  std::unique_ptr<HealthMonitor> health_;
};

}  // namespace weir
