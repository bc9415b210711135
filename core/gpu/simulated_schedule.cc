// Execution of the operations enqueued on the simulated device.

#include <algorithm>
#include <deque>

#include "core/clock.h"
#include "core/gpu/simulated_stream.h"

namespace weir {
namespace {

using Kind = SimulatedStep::Kind;

// The stream whose callback this thread runs, if any: a callback must not call the runtime.
struct RunningCallback {
  const SimulatedGpu* gpu = nullptr;
  RaceChecker::OperationRef operation;
};
thread_local RunningCallback running_callback;

}  // namespace

struct SimulatedGpu::Taken {
  SimulatedStream* stream = nullptr;
  SimulatedStep step;
  SimulatedIssue issue;
};

absl::Status SimulatedGpu::Enter(absl::string_view what) {
  if (running_callback.gpu == this) return GpuStatus(GpuError::kNotPermitted, what);
  return broken_;
}

void SimulatedGpu::HostAccess(absl::string_view what, const GpuAccess& access) {
  MutexLock lock(mu_);
  if (running_callback.gpu == this) {
    checker_.Access(running_callback.operation, {access});
  } else {
    checker_.Issue(RaceChecker::kHost, what, {access});
  }
}

absl::Status SimulatedGpu::Enqueue(SimulatedStream* stream, SimulatedStep step) {
  {
    MutexLock lock(mu_);
    RETURN_IF_ERROR(Enter(step.name));
    ++num_enqueued_[step.name];
    if (stream->capture_ != nullptr) {
      if (!stream->capture_->valid) return GpuStatus(GpuError::kStreamCaptureInvalidated, step.name);
      stream->capture_->Append(stream->lane_, std::move(step));
      return absl::OkStatus();
    }
    SimulatedIssue issue = Issue(stream->actor_, step);
    stream->queue_.push_back({std::move(step), std::move(issue)});
    changed_.notify_all();
  }
  RunSome();
  return absl::OkStatus();
}

absl::StatusOr<std::function<void()>> SimulatedGpu::EnqueueExchange(GpuStream* stream, Exchange exchange) {
  auto* const simulated = static_cast<SimulatedStream*>(stream);
  if (simulated->IsCapturing()) return GpuStatus(GpuError::kStreamCaptureUnsupported, exchange.name);
  auto mark = std::make_shared<SimulatedMark>();
  {
    MutexLock lock(mu_);
    ++pending_exchanges_;
  }
  auto complete = [this, mark] {
    MutexLock lock(mu_);
    --pending_exchanges_;
    mark->reached = true;
    changed_.notify_all();
  };
  absl::Status status =
      Enqueue(simulated, {.name = exchange.name, .work = std::move(exchange.begin), .accesses = exchange.reads});
  if (status.ok()) status = Enqueue(simulated, {.kind = Kind::kWait, .name = exchange.name, .mark = mark});
  if (status.ok()) {
    status = Enqueue(simulated, {.name = exchange.name, .work = std::move(exchange.end), .accesses = exchange.writes});
  }
  if (!status.ok()) {
    complete();
    return status;
  }
  return complete;
}

SimulatedIssue SimulatedGpu::Issue(int actor, const SimulatedStep& step) {
  switch (step.kind) {
    case Kind::kRecord:
      checker_.Issue(actor, step.name, {});  // orders the host's earlier actions before the event too
      step.mark->clock = checker_.Now(actor);
      return {};
    case Kind::kWait:
      checker_.Join(actor, step.mark->clock);
      return {};
    case Kind::kGraph:
      return IssueProgram(actor, *step.program);
    default:
      return {.operation = checker_.Issue(actor, step.name, step.accesses)};
  }
}

SimulatedIssue SimulatedGpu::IssueProgram(int actor, const SimulatedProgram& program) {
  SimulatedIssue issue{.operation = checker_.Issue(actor, "graph", {})};
  for (const int lane : program.lane_actors) checker_.Join(lane, checker_.Now(actor));
  std::vector<RaceChecker::Clock> signals(program.num_signals);
  for (const SimulatedStep& step : program.steps) {
    const int lane = program.lane_actors[step.lane];
    SimulatedIssue& issued = issue.steps.emplace_back();
    if (step.kind == Kind::kRecord) {
      signals[step.signal] = checker_.Now(lane);
    } else if (step.kind == Kind::kWait) {
      checker_.Join(lane, signals[step.signal]);
    } else {
      issued = Issue(lane, step);
    }
  }
  checker_.Join(actor, checker_.Now(program.lane_actors[0]));
  return issue;
}

bool SimulatedGpu::CanRun(const SimulatedStream& stream, bool callbacks) const {
  if (stream.busy_ || stream.hung_ || stream.queue_.empty()) return false;
  const SimulatedStep& step = stream.queue_.front().step;
  if (step.kind == Kind::kWait) return step.mark->reached;
  // A graph may contain callbacks.
  return callbacks || (step.kind != Kind::kCallback && step.kind != Kind::kGraph);
}

bool SimulatedGpu::Take(bool callbacks, SimulatedStream* only, Taken* taken) {
  std::vector<SimulatedStream*> ready;
  for (SimulatedStream* stream : streams_) {
    if ((only == nullptr || stream == only) && CanRun(*stream, callbacks)) ready.push_back(stream);
  }
  if (ready.empty()) return false;
  SimulatedStream* const stream = ready[Random(ready.size())];
  taken->stream = stream;
  taken->step = std::move(stream->queue_.front().step);
  taken->issue = std::move(stream->queue_.front().issue);
  stream->queue_.pop_front();
  stream->busy_ = true;
  return true;
}

bool SimulatedGpu::RunOne(bool callbacks, SimulatedStream* only) {
  Taken taken;
  {
    MutexLock lock(mu_);
    if (!Take(callbacks, only, &taken)) return false;
  }
  RunStep(taken.step, taken.issue);
  const std::shared_ptr<SimulatedMark> mark = taken.step.kind == Kind::kRecord ? taken.step.mark : nullptr;
  taken.step = {};  // a callback's captures are destroyed with no lock held
  MutexLock lock(mu_);
  // In the same critical section as the end of the step: after the event, the stream may be queried for being idle.
  if (mark != nullptr && broken_.ok()) mark->reached = true;
  taken.stream->busy_ = false;
  changed_.notify_all();
  return true;
}

void SimulatedGpu::RunStep(const SimulatedStep& step, const SimulatedIssue& issue) {
  {
    MutexLock lock(mu_);
    if (!broken_.ok()) return;
    if (step.kind == Kind::kRecord || step.kind == Kind::kWait) return;
    if (failing_operation_) return Break(*std::exchange(failing_operation_, std::nullopt), step.name);
    for (const GpuAccess& access : step.accesses) {
      if (access.bytes == 0 || IsAllocated(access.data, access.bytes, std::nullopt)) continue;
      return Break(GpuError::kIllegalAddress, absl::StrCat(step.name, ", which ", access.writes ? "writes " : "reads ",
                                                           access.bytes, " bytes that are not allocated"));
    }
  }
  if (step.kind == Kind::kGraph) return RunProgram(*step.program, issue);
  if (step.kind != Kind::kCallback) return step.work();
  running_callback = {this, issue.operation};
  step.work();
  running_callback = {};
}

// In any order that lanes and signals allow.
void SimulatedGpu::RunProgram(const SimulatedProgram& program, const SimulatedIssue& issue) {
  std::vector<std::deque<size_t>> lanes(program.lane_actors.size());
  for (size_t i = 0; i < program.steps.size(); ++i) lanes[program.steps[i].lane].push_back(i);
  std::vector<bool> reached(program.num_signals);
  for (size_t left = program.steps.size(); left > 0;) {
    size_t lane;
    {
      MutexLock lock(mu_);
      lane = Random(lanes.size());
    }
    if (lanes[lane].empty()) continue;
    const size_t i = lanes[lane].front();
    const SimulatedStep& step = program.steps[i];
    if (step.kind == Kind::kWait && !reached[step.signal]) continue;
    if (step.kind == Kind::kRecord) reached[step.signal] = true;
    lanes[lane].pop_front();
    --left;
    RunStep(step, issue.steps[i]);
  }
}

// Lets the device run ahead of the host or lag behind it.
void SimulatedGpu::RunSome() {
  if (options_.schedule != Schedule::kSeeded) return;
  size_t steps;
  {
    MutexLock lock(mu_);
    steps = Random(3);
  }
  while (steps-- > 0 && RunOne(/*callbacks=*/false, nullptr)) continue;
}

void SimulatedGpu::RunStream(SimulatedStream* stream) {
  while (true) {
    {
      MutexLock lock(mu_);
      while (!stream->stopping_ && !CanRun(*stream, true)) lock.Wait(changed_);
      if (stream->stopping_) return;
    }
    RunOne(/*callbacks=*/true, stream);
  }
}

// Drops everything that is enqueued.
void SimulatedGpu::Break(GpuError error, absl::string_view what) {
  if (broken_.ok()) broken_ = GpuStatus(error, what);
  changed_.notify_all();
}

size_t SimulatedGpu::Random(size_t below) { return random_() % below; }

std::string SimulatedGpu::Obstacle() const {
  for (const SimulatedStream* stream : streams_) {
    if (stream->queue_.empty()) continue;
    return absl::StrCat("stream '", stream->name_, "' ", stream->hung_ ? "hangs" : "waits", " before '",
                        stream->queue_.front().step.name, "'");
  }
  return "nothing is enqueued";
}

absl::Status SimulatedGpu::WaitUntil(absl::Time deadline, absl::string_view what, absl::FunctionRef<bool()> done) {
  const bool seeded = options_.schedule == Schedule::kSeeded;
  while (true) {
    {
      MutexLock lock(mu_);
      if (!broken_.ok()) return broken_;
      if (done()) return absl::OkStatus();
    }
    if (seeded && RunOne(/*callbacks=*/true, nullptr)) continue;
    MutexLock lock(mu_);
    if (!broken_.ok() || done()) continue;
    const bool may_change = std::any_of(streams_.begin(), streams_.end(),
                                        [&](const SimulatedStream* stream)
                                            REQUIRES(mu_) { return stream->busy_ || CanRun(*stream, true); });
    const bool never = seeded && !may_change && pending_exchanges_ == 0 && deadline == absl::InfiniteFuture();
    if (never || MonotonicNow() >= deadline) {
      return errors::DeadlineExceeded(what, " timed out: ", Obstacle());
    }
    if (deadline == absl::InfiniteFuture()) {
      lock.Wait(changed_);
    } else {
      lock.WaitUntil(changed_, ToSteady(deadline));
    }
  }
}

}  // namespace weir
