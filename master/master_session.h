// A client's graph, and the client graphs prepared from it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/kernel/kernel_registry.h"
#include "core/mutex.h"
#include "core/threads/busy_poller.h"
#include "core/threads/timer_queue.h"
#include "distribute/collective/step_sequences.h"
#include "distribute/membership/cluster_membership.h"
#include "distribute/transport/master_interface.h"
#include "master/client_graph.h"
#include "master/client_partial_run.h"
#include "master/master_metrics.h"
#include "master/session_summary.h"
#include "master/session_tasks.h"
#include "master/step.h"
#include "master/step_tracer.h"
#include "master/used_tasks.h"

namespace weir {

class SessionCostPlacement;
class SessionJournal;
struct RecordedSession;

// Thread-safe: steps, extensions and callables may run at once. A session outlives failures of its tasks: when a task
// comes back, the next step opens a new worker session there and registers every client graph again.
class MasterSession {
 public:
  struct Options {
    std::string handle;
    int64_t number = 0;                // for people: the handle is a secret
    MasterMetrics* metrics = nullptr;  // outlives the session; may be null
    const OpRegistry* ops = nullptr;
    const KernelRegistry* kernels = nullptr;
    Device* fold_on = nullptr;
    MixedPrecisionSettings mixed_precision;
    const LayoutCosts* layout_costs = nullptr;
    TimerQueue* timers = nullptr;
    tensorflow::ConfigProto config;
    SessionTasks::Options tasks;
    std::shared_ptr<WorkerPool> cluster_workers;  // what tasks.workers points to, if the session has its own cluster
    StepSequences* step_sequences = nullptr;      // null: no other master takes part in this session's collectives
    BusyPoller* poller = nullptr;                 // Step::Options
    StepTracer* tracer = nullptr;                 // records steps; outlives the session; null: none are traced
    // Records extensions and callables of a session that it knows; outlives the session; may be null.
    SessionJournal* journal = nullptr;
  };

  explicit MasterSession(Options options);
  ~MasterSession();

  // Connects to the tasks, then imports the graph.
  absl::Status Create(const CallOptions& call, const tensorflow::GraphDef& graph);
  // Instead of Create: connects to the tasks again and takes over what an earlier master recorded.
  absl::Status Restore(const CallOptions& call, const RecordedSession& recorded);
  absl::Status Extend(const tensorflow::ExtendSessionRequest& request, tensorflow::ExtendSessionResponse* response);
  absl::StatusOr<RunStepResult> Run(const CallOptions& call, const RunStepArgs& args);
  absl::Status PartialRunSetup(const CallOptions& call, const tensorflow::PartialRunSetupRequest& request,
                               tensorflow::PartialRunSetupResponse* response);
  // Ends all partial runs that no call is waiting for, because their client is gone.
  void EndPartialRuns();
  absl::Status MakeCallable(const CallOptions& call, const tensorflow::MakeCallableRequest& request,
                            tensorflow::MakeCallableResponse* response);
  absl::StatusOr<RunStepResult> RunCallable(const CallOptions& call, const RunCallableArgs& args);
  absl::Status ReleaseCallable(int64_t handle);
  // Fails running steps and rejects new ones.
  void CancelSteps();
  // CancelSteps, then waits for them, and deregisters the graph on every task. Later calls return
  // FAILED_PRECONDITION. DEADLINE_EXCEEDED names the tasks on which steps still run after `patience`, and the kernels
  // there that ignore the cancellation; they end later, without effect on others.
  absl::Status Close(absl::Duration patience = absl::InfiniteDuration());

  const std::string& handle() const { return options_.handle; }
  int64_t graph_version() const;
  const SessionTasks& tasks() const { return tasks_; }
  // Steps that began before `before`.
  std::vector<std::shared_ptr<Step>> RunningSteps(absl::Time before) const;
  // The cluster moves variables: returns once no step runs that uses them; new ones wait until the move has ended.
  // ABORTED says how many still run at the deadline.
  absl::Status HoldMove(absl::Time deadline);
  // Adds the variables of its graph, by what they share.
  void ListState(ListStateResponse* response) const;
  int64_t number() const { return options_.number; }
  SessionSummary Summary() const;
  // Null before Create.
  std::shared_ptr<const Graph> graph() const;

 private:
  struct Callable {
    Signature signature;
    tensorflow::RunOptions run_options;
    // Guarded by the session's mutex.
    std::shared_ptr<ClientGraph> graph;  // null: forgotten
    int64_t epoch = 0;
  };

  static std::shared_ptr<Callable> NewCallable(const tensorflow::CallableOptions& options);
  absl::Status AwaitSteps(absl::Time end);
  absl::Status CheckOpen() const REQUIRES(mu_);
  // A graph, and why nodes of it have no device. Replaced by extensions, never changed.
  struct PlacedGraph {
    std::unique_ptr<const Graph> graph;
    absl::flat_hash_map<std::string, absl::Status> unplaced;
  };
  // Adds nodes to `graph`, and places it.
  absl::StatusOr<std::shared_ptr<const PlacedGraph>> Extended(std::unique_ptr<Graph> graph,
                                                              const tensorflow::GraphDef& nodes);
  absl::Status RefreshIfNeeded();
  // Learns which tasks have joined the cluster and left it.
  absl::Status FollowCluster();
  // Places nodes that had no device, now that there are others.
  absl::Status PlaceAgain();
  // The tasks have changed: client graphs are built anew.
  void ForgetGraphs();
  // Makes the next call ask the tasks again if the error suggests that one was lost.
  void NoteTaskLoss(const absl::Status& status);
  // Announces a watched step to debuggers.
  absl::Status PublishWatchedStep(const Signature& signature, const tensorflow::DebugOptions& debug_options);
  // The step's deadline and cancellation end the preparation of its graph.
  absl::StatusOr<std::shared_ptr<ClientGraph>> GetClientGraph(const CallOptions& call,
                                                              const tensorflow::RunOptions& run_options,
                                                              const Signature& signature);
  absl::StatusOr<std::shared_ptr<ClientGraph>> BuildClientGraph(const CallOptions& call,
                                                                const tensorflow::RunOptions& run_options,
                                                                const Signature& signature, int64_t* epoch);
  void CountGraph(int64_t epoch) const;
  // `tracer` (may be null) records the step.
  // `graph` gives the graph, and after a move of its variables the one that replaces it.
  using GraphSource = std::function<absl::StatusOr<std::shared_ptr<ClientGraph>>()>;
  absl::StatusOr<std::shared_ptr<Step>> NewStep(const CallOptions& call, const tensorflow::RunOptions& options,
                                                const GraphSource& graph, StepTracer* tracer);
  // Null if the graph's variables have moved meanwhile: it needs another one.
  absl::StatusOr<std::shared_ptr<Step>> TryNewStep(const CallOptions& call, const tensorflow::RunOptions& options,
                                                   std::shared_ptr<ClientGraph> graph, StepTracer* tracer);
  // The cluster, whose moved variables this session follows; null: it follows none.
  std::shared_ptr<const ClusterMembership::Snapshot> MovedVariables() const;
  // MovedState::standby_epoch; 0 if no task has ever stood by for another, or the session does not follow that.
  int64_t StandbyEpoch() const;
  bool UsesStandbys(const ClientGraph& graph) const;
  // A step has failed. True if it can run again because a standby has taken the place of the task that failed it, until
  // `deadline` at the latest; it may also have ended well after all: then `result` is what it returned.
  bool IsToRunAgain(const CallOptions& call, absl::Time deadline, Step& step, absl::StatusOr<RunStepResult>* result);
  // Waits while variables of the graph are being moved. False if they are not where the graph takes them to be.
  absl::StatusOr<bool> AwaitMove(const CallOptions& call, const tensorflow::RunOptions& options,
                                 const ClientGraph& graph);
  absl::StatusOr<std::shared_ptr<ClientGraph>> GraphOfCallable(const CallOptions& call,
                                                               const std::shared_ptr<Callable>& callable);
  absl::StatusOr<int64_t> NewStepId(const CallOptions& call, const tensorflow::RunOptions& options,
                                    const ClientGraph& graph);
  absl::StatusOr<RunStepResult> RunStep(const CallOptions& call, Step& step, std::vector<Tensor> feeds);
  absl::StatusOr<RunStepResult> RunWhole(const CallOptions& call, const tensorflow::RunOptions& options,
                                         const GraphSource& graph, std::vector<Tensor> feeds);
  absl::StatusOr<ClientPartialRun::Piece> TakePiece(const RunStepArgs& args);
  absl::StatusOr<RunStepResult> RunPartial(const CallOptions& call, const RunStepArgs& args);
  // Learns from the statistics of a step of `graph`, and prepares that anew if it was placed by estimates.
  void LearnCosts(const ClientGraph& graph, const tensorflow::RunMetadata& metadata);
  // Logs once per op type that soft placement moved a node.
  void Moved(const Node& node, absl::string_view asked, const DeviceName& chosen);
  void Ended(const Step& step, const absl::Status& status);
  // The steps that used each variable.
  absl::flat_hash_map<StateKey, int64_t> StepsByVariable() const;
  // Rebuilds the graph when it is next needed.
  void Forget(const ClientGraph& graph);

  const Options options_;
  const absl::Time created_;
  SessionTasks tasks_;
  const std::shared_ptr<EndedSteps> ended_steps_ = std::make_shared<EndedSteps>(options_.timers);
  const std::shared_ptr<UsedTasks> used_tasks_ = std::make_shared<UsedTasks>();
  std::atomic<int64_t> next_step_id_;
  std::atomic<bool> needs_refresh_{false};
  std::atomic<int64_t> cluster_version_{0};               // of the cluster that the session knows
  bool commits_ = true;                                   // set by Create
  bool reads_standbys_ = false;                           // set by Create
  bool moves_state_ = false;                              // set by Create: the session itself moves variables
  std::unique_ptr<SessionCostPlacement> cost_placement_;  // set by Create; null: nodes go to the first device
  std::atomic<bool> lost_by_worker_{false};               // a task has no worker session any more

  Mutex extend_mu_;  // the outer lock, held while an extension is made and recorded
  // When to ask again for tasks that have joined and did not answer.
  absl::Time next_follow_ GUARDED_BY(extend_mu_) = absl::InfinitePast();
  bool places_again_ GUARDED_BY(extend_mu_) = false;  // PlaceAgain is due
  mutable Mutex mu_;
  std::shared_ptr<const PlacedGraph> placed_ GUARDED_BY(mu_);  // set by Create
  int64_t graph_version_ GUARDED_BY(mu_) = 0;
  int64_t epoch_ GUARDED_BY(mu_) = 0;  // incremented by each refresh that found a changed task
  absl::flat_hash_map<Signature, std::shared_ptr<ClientGraph>> client_graphs_ GUARDED_BY(mu_);
  absl::flat_hash_map<StateKey, int64_t> earlier_steps_ GUARDED_BY(mu_);  // of forgotten graphs, by variable
  int64_t watched_steps_ GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<Signature, int64_t> watched_steps_of_ GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, std::unique_ptr<ClientPartialRun>> partial_runs_ GUARDED_BY(mu_);
  absl::flat_hash_map<int64_t, std::shared_ptr<Callable>> callables_ GUARDED_BY(mu_);
  int64_t next_callable_ GUARDED_BY(mu_);
  bool closed_ GUARDED_BY(mu_) = false;

  Mutex moved_mu_;
  absl::flat_hash_set<std::string> moved_ops_ GUARDED_BY(moved_mu_);

  mutable Mutex steps_mu_;
  std::condition_variable step_ended_;
  absl::flat_hash_map<int64_t, std::shared_ptr<Step>> steps_ GUARDED_BY(steps_mu_);
  int64_t steps_started_ GUARDED_BY(steps_mu_) = 0;
  bool closing_ GUARDED_BY(steps_mu_) = false;  // rejects new steps
};

}  // namespace weir
