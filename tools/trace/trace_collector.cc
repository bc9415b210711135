#include "tools/trace/trace_collector.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weir {
namespace {

// Between rounds of calls: short against a step that people wait for, and long against a call.
constexpr absl::Duration kPause = absl::Milliseconds(50);
constexpr absl::Duration kRetryPause = absl::Seconds(1);
// Rounds before the first pause, for readings of the clocks.
constexpr int kFirstRounds = 5;

class Collector {
 public:
  Collector(TraceSource& source, const CollectOptions& options, const ListTasksResponse& cluster)
      : source_(source), options_(options), trace_(cluster.task()), end_(options.now() + options.timeout) {
    trace_.wanted = options.steps;
    trace_.tasks.assign(cluster.tasks().begin(), cluster.tasks().end());
    if (std::find(trace_.tasks.begin(), trace_.tasks.end(), cluster.task()) == trace_.tasks.end()) {
      trace_.tasks.push_back(cluster.task());  // a server outside of its cluster's definition
    }
    for (const std::string& task : trace_.tasks) tasks_.push_back({.name = task});
  }

  absl::StatusOr<CollectedTrace> Run() {
    for (int round = 0; !IsOver(); ++round) {
      if (round >= kFirstRounds) options_.sleep(kPause);
      for (Task& task : tasks_) {
        if (IsOver()) break;
        if (options_.now() >= task.retry_at) Ask(task);
      }
      if (!first_error_.ok()) break;
    }
    interrupted_ = options_.is_interrupted();
    for (const Task& task : tasks_) End(task);
    RETURN_IF_ERROR(first_error_);
    Choose();
    AddNotes();
    return std::move(trace_);
  }

 private:
  struct Task {
    std::string name;
    int64_t received = 0;
    int64_t dropped = 0;
    bool has_answered = false;
    absl::Status error;  // of the last call
    absl::Time failing_since = absl::InfiniteFuture();
    absl::Time retry_at = absl::InfinitePast();
  };

  bool IsReference(const Task& task) const { return task.name == trace_.clocks.reference(); }

  bool IsOver() const {
    const absl::Time now = options_.now();
    if (static_cast<int>(trace_.steps.size()) >= options_.steps || bytes_ >= options_.max_bytes || now >= end_ ||
        options_.is_interrupted()) {
      return true;
    }
    return std::any_of(tasks_.begin(), tasks_.end(), [&](const Task& task) {
      return IsReference(task) && now - task.failing_since >= options_.patience;
    });
  }

  TraceStepsRequest RequestFor(const Task& task) const {
    TraceStepsRequest request;
    if (!IsReference(task)) request.set_task(task.name);
    request.set_tracer(options_.tracer);
    request.set_steps(options_.steps);
    request.set_received(task.received);
    return request;
  }

  void Ask(Task& task) {
    const absl::Time now = options_.now();
    const absl::Time deadline = std::min(now + options_.call_timeout, std::max(end_, now + absl::Seconds(1)));
    absl::StatusOr<TraceStepsResponse> response = source_.TraceSteps(RequestFor(task), deadline);
    task.error = response.status();
    if (!response.ok()) {
      task.failing_since = std::min(task.failing_since, options_.now());
      task.retry_at = options_.now() + kRetryPause;
      // Before the first answer, an error of the task that is asked is the user's to solve.
      const bool is_interruption = absl::IsCancelled(task.error) && options_.is_interrupted();
      if (IsReference(task) && !task.has_answered && !absl::IsUnavailable(task.error) && !is_interruption) {
        first_error_ = task.error;
      }
      return;
    }
    task.has_answered = true;
    task.failing_since = absl::InfiniteFuture();
    task.dropped = response->dropped();
    trace_.clocks.Add(
        task.name,
        {.called = response->called_nanos(), .clock = response->clock_nanos(), .answered = response->answered_nanos()});
    task.received += response->step_size();
    for (TracedStep& step : *response->mutable_step()) {
      bytes_ += static_cast<int64_t>(step.ByteSizeLong());
      trace_.steps.push_back(std::move(step));
    }
  }

  // A task that is not reached ends its tracer by itself.
  void End(const Task& task) {
    if (!task.error.ok() && !absl::IsCancelled(task.error)) return;
    TraceStepsRequest request = RequestFor(task);
    request.set_end(true);
    source_.TraceSteps(request, options_.now() + absl::Seconds(2)).status().IgnoreError();
  }

  // Keeps the first steps to end.
  void Choose() {
    const auto end_of = [&](const TracedStep& step) {
      return trace_.clocks.ToReference(step.master(), step.end_nanos());
    };
    std::stable_sort(trace_.steps.begin(), trace_.steps.end(),
                     [&](const TracedStep& a, const TracedStep& b) { return end_of(a) < end_of(b); });
    if (static_cast<int>(trace_.steps.size()) > options_.steps) trace_.steps.resize(options_.steps);
  }

  void AddNotes() {
    std::vector<std::string>& notes = trace_.notes;
    if (!trace_.is_complete()) {
      const char* const why = bytes_ >= options_.max_bytes ? ", which fill the memory for a trace"
                              : interrupted_               ? " before the interruption"
                              : options_.now() >= end_     ? " before the timeout"
                                                           : " before the task that was asked was lost";
      notes.push_back(absl::StrCat(trace_.steps.size(), " of ", options_.steps, " steps have ended", why, "."));
    }
    for (const Task& task : tasks_) {
      if (absl::IsUnimplemented(task.error)) {
        notes.push_back(absl::StrCat(task.name, " records no steps: it is not a Weir server, or an older one."));
      } else if (!task.error.ok() && !absl::IsCancelled(task.error)) {
        notes.push_back(absl::StrCat(task.name, task.has_answered ? " stopped answering" : " did not answer",
                                     ", so that steps of its master may be missing: ", task.error.message(), "."));
      }
      if (task.dropped > 0) {
        notes.push_back(absl::StrCat(task.name, " dropped ", task.dropped, " steps for lack of memory."));
      }
    }
    const auto failed =
        std::find_if(trace_.steps.begin(), trace_.steps.end(), [](const TracedStep& s) { return s.code() != 0; });
    if (failed == trace_.steps.end()) return;
    const auto count = std::count_if(failed, trace_.steps.end(), [](const TracedStep& s) { return s.code() != 0; });
    notes.push_back(absl::StrCat(
        count, " of the steps failed, so that parts of them are missing. The first error: ", failed->error(), "."));
  }

  TraceSource& source_;
  const CollectOptions& options_;
  CollectedTrace trace_;
  const absl::Time end_;
  std::vector<Task> tasks_;
  int64_t bytes_ = 0;
  absl::Status first_error_;
  bool interrupted_ = false;
};

}  // namespace

absl::StatusOr<CollectedTrace> CollectTrace(TraceSource& source, const CollectOptions& options) {
  const absl::StatusOr<ListTasksResponse> cluster = source.ListTasks(options.now() + options.call_timeout);
  if (absl::IsUnimplemented(cluster.status())) {
    return errors::Unimplemented("The task records no steps: it is not a Weir server, or an older one");
  }
  RETURN_IF_ERROR(cluster.status());
  return Collector(source, options, *cluster).Run();
}

}  // namespace weir
