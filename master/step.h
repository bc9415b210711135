// One step of a client graph, on all its tasks.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <optional>
#include <vector>

#include "core/mutex.h"
#include "core/status.h"
#include "core/threads/busy_poller.h"
#include "core/threads/cancellation.h"
#include "core/threads/timer_queue.h"
#include "distribute/transport/master_interface.h"
#include "master/client_graph.h"
#include "master/ended_steps.h"
#include "master/step_tracer.h"
#include "master/used_tasks.h"

namespace weir {

// Runs the parts, collects fetches and chooses the error to report: the first that is not the consequence of another.
// Fail, from any thread, ends the step with an error, unless its updates are committed: they are finished first, and if
// every part finishes, the step succeeds after all.
class Step {
 public:
  struct Options {
    std::string session_handle;
    int64_t step_id = 0;
    absl::Time deadline = absl::InfiniteFuture();
    tensorflow::ExecutorOpts exec_opts;
    TimerQueue* timers = nullptr;
    std::shared_ptr<EndedSteps> ended;         // null: tasks are notified at once
    std::shared_ptr<const UsedTasks> used;     // of the session; null: none
    BusyPoller* poller = nullptr;              // polled by the thread that waits for the step; may be null
    std::shared_ptr<StepRecording> recording;  // gets the parts' times and statistics; null: the step is not traced
  };

  Step(Options options, std::shared_ptr<const ClientGraph> graph);
  ~Step();
  Step(const Step&) = delete;

  // Blocks until every part has answered or was given up. `feeds` and fetches are in the signature's order. `caller`
  // (may be null) ends the step when it fires; it is not used after the call.
  absl::StatusOr<RunStepResult> Run(std::vector<Tensor> feeds, CancellationManager* caller);

  // One call of a partial run: gives the listed feeds and waits for the listed fetches.
  absl::StatusOr<RunStepResult> RunPartial(const std::vector<int>& feed_indices, std::vector<Tensor> feeds,
                                           const std::vector<int>& fetch_indices, bool is_last,
                                           CancellationManager* caller);

  void Fail(absl::Status status);
  // False if the step has failed and its updates may still take effect on some task.
  bool is_settled() const;
  // What is known of the updates of a step that has failed.
  enum class Updates { kUnknown, kAborted, kCommitted };
  Updates updates() const;
  // The fetches of a step that has failed, if no part with fetches has, and of those with updates that of the lost task
  // alone; else nullopt.
  std::optional<RunStepResult> TakeResult(const std::string& lost_task);
  // The tasks whose parts have not ended.
  std::vector<std::string> RunningOn();
  // Other tasks that the session has used.
  std::vector<UsedTasks::Task> OtherTasks() const;
  const ClientGraph& graph() const { return *graph_; }
  const std::string& session_handle() const { return options_.session_handle; }
  int64_t step_id() const { return options_.step_id; }
  absl::Time start() const { return start_; }
  StepRecording* recording() const { return options_.recording.get(); }  // null: the step is not traced

 private:
  class CallerLink;
  void Start(const ClientGraph::Part& part, RunGraphArgs args, std::vector<int> fetch_positions,
             std::vector<Tensor>* fetches, tensorflow::RunMetadata* metadata);
  void Finish(const ClientGraph::Part& part, absl::StatusOr<RunGraphResult> result,
              const std::vector<int>& fetch_positions, std::vector<Tensor>* fetches, tensorflow::RunMetadata* metadata);
  void Record(const ClientGraph::Part& part, absl::Time start, absl::StatusOr<RunGraphResult>& result);
  // True if the part gave up because of the step's deadline. Its peers are about to do the same, and to say why.
  bool GaveUpInTime(const absl::Status& status) const;
  void TimeOut();
  absl::Status Wait();
  // Asks the part that decides whether the updates take effect to abort the step.
  void AbortAt(const ClientGraph::Part& coordinator);
  void Aborted(const absl::Status& status, const ResolveStepResponse& response);
  void CancelParts();
  // The step's error; after its deadline, also what each part was waiting for.
  absl::Status Outcome() REQUIRES(mu_);
  void Cleanup();

  const Options options_;
  const std::shared_ptr<const ClientGraph> graph_;
  const absl::Time start_;
  CancellationManager cancellation_;
  TimerQueue::Token timer_;
  bool has_timer_ = false;
  std::atomic<bool> is_partial_{false};
  TimerQueue::Token hard_end_;  // of a committed step; set before the last part can end
  bool has_hard_end_ = false;

  mutable Mutex mu_;
  std::condition_variable all_done_;
  int pending_ GUARDED_BY(mu_) = 0;
  std::vector<const ClientGraph::Part*> running_ GUARDED_BY(mu_);
  bool ending_ GUARDED_BY(mu_) = false;  // Fail was called
  bool part_failed_ GUARDED_BY(mu_) = false;
  bool over_ GUARDED_BY(mu_) = false;                      // every part has answered; of a partial run, the newest call
  std::optional<RunStepResult> result_;                    // of a failed Run
  std::vector<std::string> failed_tasks_ GUARDED_BY(mu_);  // of those with updates
  bool fetches_failed_ GUARDED_BY(mu_) = false;
  bool lost_one_of_two_ GUARDED_BY(mu_) = false;  // a task that has a standby, or is one
  Updates updates_ GUARDED_BY(mu_) = Updates::kUnknown;
  absl::Status error_ GUARDED_BY(mu_);
  bool timed_out_ GUARDED_BY(mu_) = false;
  std::vector<std::string> late_ GUARDED_BY(mu_);  // for each part that did not end, why
};

}  // namespace weir
