// Detects tasks that died or hang while a step waits for them.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/mutex.h"
#include "core/threads/cancellation.h"
#include "master/step.h"
#include "master/used_tasks.h"
#include "master/wait_survey.h"

namespace weir {

// Asks the remote tasks of slow steps for their status, and other tasks that the step's session has used. Owns one
// thread.
// - A task that cannot be reached, or does not answer within `answer_timeout`, fails the step with UNAVAILABLE, which
//   names the task.
// - So a dead task is detected at once (its connection breaks), a hung one within slow_step + interval +
//   answer_timeout.
// - If the task has no part of the step, this holds for a step that waits at a queue, accumulator or the like, unless
//   another slow step of the session runs and does not: it may end the wait. The error names the node too.
// - A task is not lost if its answer may wait behind a large message (IsTransferring), or if this process has no file
//   left to reach it: steps then fail with RESOURCE_EXHAUSTED, which names the limit.
class HealthMonitor {
 public:
  struct Options {
    absl::Duration slow_step = absl::Seconds(1);
    absl::Duration interval = absl::Seconds(1);
    absl::Duration answer_timeout = absl::Seconds(5);
    // All sessions' steps that began before the given time.
    std::function<std::vector<std::shared_ptr<Step>>(absl::Time)> running_steps;
  };

  explicit HealthMonitor(Options options);
  ~HealthMonitor();
  HealthMonitor(const HealthMonitor&) = delete;

 private:
  struct Probe;
  void Loop();
  void CheckSteps();
  void Ask(const UsedTasks::Task& task);
  void Answered(const Probe& probe, const absl::Status& status);
  // Fails the steps with a part on the task.
  void FailParts(const UsedTasks::Task& task, const absl::Status& failure) const;
  // Fails the slow steps without one if they wait for what a step there was to do.
  void CheckWaits(const UsedTasks::Task& task, const std::string& reason);
  void FailWaits(const UsedTasks::Task& task, const std::string& reason,
                 const std::vector<std::shared_ptr<Step>>& steps, const StepWaitsById& waits) const;

  const Options options_;
  CancellationManager cancellation_;  // of the calls
  Mutex mu_;
  std::condition_variable changed_;
  bool stopping_ GUARDED_BY(mu_) = false;
  // Workers with a pending status call, removed when it ends.
  absl::flat_hash_map<WorkerInterface*, std::shared_ptr<Probe>> probes_ GUARDED_BY(mu_);
  int surveys_ GUARDED_BY(mu_) = 0;
  std::thread thread_;
};

}  // namespace weir
