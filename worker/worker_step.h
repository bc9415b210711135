// One step of a registered graph on a worker.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/mutex.h"
#include "core/rendezvous/collective.h"
#include "core/threads/busy_poller.h"
#include "core/threads/cancellation.h"
#include "core/threads/suspension_watch.h"
#include "core/threads/timer_queue.h"
#include "distribute/transport/transfer_log.h"
#include "distribute/transport/worker_interface.h"
#include "worker/commit/step_participation.h"
#include "worker/executor/step_waits.h"
#include "worker/registered_graph.h"
#include "worker/stats_collector.h"
#include "worker/worker_session.h"

namespace weir {

// Counts activities that must end before a worker is destroyed. Thread-safe.
class ActiveCount {
 public:
  void Add();
  void Remove();
  // Blocks until the count is zero.
  void Wait();

  // Counts while it exists.
  class Hold {
   public:
    explicit Hold(ActiveCount* count) : count_(count) { count_->Add(); }
    ~Hold() { count_->Remove(); }
    Hold(const Hold&) = delete;

   private:
    ActiveCount* const count_;
  };

 private:
  Mutex mu_;
  std::condition_variable none_;
  int active_ GUARDED_BY(mu_) = 0;
};

// Runs all units of the graph at once; keeps itself alive meanwhile. The first error ends the other units; `done` gets
// the first error that is not the consequence of another.
class WorkerStep : public std::enable_shared_from_this<WorkerStep> {
 public:
  struct Options {
    std::shared_ptr<WorkerSession> session;
    std::shared_ptr<RegisteredGraph> graph;
    const std::vector<GraphUnit>* units = nullptr;  // of the graph
    int64_t step_id = 0;
    tensorflow::ExecutorOpts exec_opts;
    std::shared_ptr<Rendezvous> rendezvous;       // may be null if the graph has no transfers
    std::shared_ptr<TransferLog> transfers;       // the same
    CancellationManager* cancellation = nullptr;  // the caller's; lives until `done`
    absl::Time deadline = absl::InfiniteFuture();
    bool caller_waits = false;  // RunGraphArgs
    TimerQueue* timers = nullptr;
    std::shared_ptr<CollectiveExecutor> collectives;  // null if the graph has none
    BusyPoller* poller = nullptr;                     // StepArgs
    const SuspensionWatch* suspension = nullptr;      // the same
    ActiveCount* active = nullptr;
    std::shared_ptr<void> state_use;  // of StateGuard
    // For graphs that take part in a commit.
    std::string task;
    StepOutcomes* outcomes = nullptr;
    PeerFinder peers;
    const std::atomic<bool>* is_ending = nullptr;
    // Whether this task's standby can no longer take over from it, nor has.
    std::function<bool(const std::string& standby)> has_lost_standby;
  };
  using DoneCallback = std::function<void(absl::StatusOr<RunGraphResult>)>;

  explicit WorkerStep(Options options);

  // `feeds` by the graph's feeds; empty if they come through the rendezvous. Computes on the calling thread as far as
  // possible, and waits there if the caller does; `done` may run before it returns.
  void Run(const std::vector<Tensor>& feeds, DoneCallback done);
  void Cancel(const absl::Status& reason);
  // The kernels that the step waits for, those at shared objects with the object. Thread-safe.
  std::vector<StepWait> Waits();

 private:
  struct Unit {
    StepContext context;
    std::optional<StepContainer> container;
    std::vector<Tensor> feeds, results;
    std::unique_ptr<StatsCollector> stats;
    StepWaits waits;
  };

  Unit& NewUnit();
  // Describes some of the asynchronous kernels that the step waits for.
  std::vector<std::string> WaitTexts();
  void TimeOut();
  absl::Status Prepare(const std::vector<Tensor>& feeds);
  void JoinCommit(const CommitRole& role);
  // Nodes that need one that failed end, on this task and on others, while the updates of the committed step go on.
  void GoOnWithoutFailedNodes();
  // The unit's nodes have run; work that they enqueued on a GPU may be pending.
  void UnitRan(const GraphUnit& unit, const absl::Status& status);
  void UnitDone(const absl::Status& status);
  void Finish();
  RunGraphResult Result();

  const ActiveCount::Hold active_;  // destroyed last: until then, graph and session are in use
  Options options_;
  CancellationManager cancellation_;  // not a child of the caller's, which may be destroyed after `done`
  CancellationManager::Token caller_token_ = CancellationManager::kInvalidToken;
  std::optional<CancellationManager> waits_;                       // StepCommit::waits; nullopt: the step has no commit
  std::shared_ptr<StepParticipation> commit_;                      // null: the step has no commit
  std::function<void(const Node&, const absl::Status&)> skipped_;  // StepArgs; null: the step has no commit
  std::atomic<bool> is_given_up_{false};
  Mutex units_mu_;  // adding and removing units; the step's own threads need no lock to use one
  std::deque<Unit> units_;
  DoneCallback done_;
  std::optional<int64_t> session_token_;
  std::optional<TimerQueue::Token> timer_;

  Mutex mu_;
  size_t pending_ GUARDED_BY(mu_) = 0;
  absl::Status status_ GUARDED_BY(mu_);
};

}  // namespace weir
