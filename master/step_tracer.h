// Records the steps of a master for tracers.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/time/time.h"
#include "core/clock.h"
#include "core/mutex.h"
#include "core/status.h"
#include "core/threads/timer_queue.h"
#include "tensorflow/core/framework/step_stats.pb.h"
#include "weir/trace.pb.h"

namespace weir {

// One step that is recorded. Thread-safe.
class StepRecording {
 public:
  // `tracers`: those that get it. With `for_client` the step's statistics go to its client too.
  StepRecording(std::vector<uint64_t> tracers, TracedStep step, bool for_client)
      : tracers_(std::move(tracers)), for_client_(for_client), step_(std::move(step)) {}

  const std::vector<uint64_t>& tracers() const { return tracers_; }
  bool for_client() const { return for_client_; }
  // `start`: of MonotonicNow, when RunGraph was called.
  void PartEnded(const std::string& task, absl::Time start, const absl::Status& status, tensorflow::StepStats stats);
  // Once, after the parts have ended.
  TracedStep Finish(const absl::Status& status);

 private:
  const std::vector<uint64_t> tracers_;
  const bool for_client_;
  Mutex mu_;
  TracedStep step_ GUARDED_BY(mu_);
};

// Several tracers may record at once; each gets the steps that begin after its first call. Thread-safe.
// - A step that nobody traces costs one relaxed load.
// - Memory is bounded: a tracer keeps steps up to Limits::bytes until its client has them, and drops further ones.
// - A tracer whose client is gone ends after Limits::lease.
class StepTracer {
 public:
  struct Limits {
    int tracers = 8;
    int steps = 100'000;                   // of a tracer
    int64_t bytes = int64_t{64} << 20;     // that a tracer keeps
    int64_t response = int64_t{16} << 20;  // of a response, unless one step is larger
    absl::Duration lease = absl::Seconds(30);
  };

  // `task`: the master's. `timers` outlives this, and the recordings' ends.
  StepTracer(std::string task, TimerQueue* timers) : StepTracer(std::move(task), timers, Limits()) {}
  StepTracer(std::string task, TimerQueue* timers, const Limits& limits);
  ~StepTracer();
  StepTracer(const StepTracer&) = delete;

  // Whether some tracer waits for steps.
  bool is_on() const { return is_on_.load(std::memory_order_relaxed); }
  // For a step that begins now; null if no tracer wants it. `for_client`: see StepRecording.
  std::shared_ptr<StepRecording> Begin(int64_t step_id, const std::string& session, bool for_client);
  // The step of `recording` has ended.
  void End(StepRecording& recording, const absl::Status& status);

  // Serves TraceSteps for this task. RESOURCE_EXHAUSTED if there are too many tracers, INVALID_ARGUMENT for numbers
  // that make no sense.
  absl::Status Serve(const TraceStepsRequest& request, TraceStepsResponse* response);

  size_t num_tracers() const;

 private:
  using SharedStep = std::shared_ptr<const TracedStep>;
  struct Tracer {
    int wanted = 0;        // steps that it will still begin to record
    int running = 0;       // steps that it records
    int64_t received = 0;  // the number of the first of `steps`
    std::deque<SharedStep> steps;
    int64_t bytes = 0;  // of them
    int64_t dropped = 0;
    absl::Time expires = absl::InfinitePast();
  };

  absl::StatusOr<Tracer*> FindOrAdd(const TraceStepsRequest& request) REQUIRES(mu_);
  void Keep(Tracer& tracer, const SharedStep& step) REQUIRES(mu_);
  void Forget(Tracer& tracer, int64_t received) REQUIRES(mu_);
  void UpdateIsOn() REQUIRES(mu_);
  // Ends tracers whose lease is over, and schedules the next check.
  void Expire();
  void ScheduleExpiry() REQUIRES(mu_);

  const std::string task_;
  TimerQueue* const timers_;
  const Limits limits_;
  std::atomic<bool> is_on_{false};
  mutable Mutex mu_;
  absl::btree_map<uint64_t, Tracer> tracers_ GUARDED_BY(mu_);
  bool is_ending_ GUARDED_BY(mu_) = false;
  bool is_scheduled_ GUARDED_BY(mu_) = false;
  std::optional<TimerQueue::Token> timer_ GUARDED_BY(mu_);  // the last one, which may be running
};

// The clock of traces: nanoseconds since the epoch, as MonotonicNow shows them.
inline int64_t TraceClockNanos() { return absl::ToUnixNanos(MonotonicNow()); }

}  // namespace weir
