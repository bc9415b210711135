#include "master/step_tracer.h"

#include <algorithm>
#include <utility>

namespace weir {

void StepRecording::PartEnded(const std::string& task, absl::Time start, const absl::Status& status,
                              tensorflow::StepStats stats) {
  const int64_t now = TraceClockNanos();
  MutexLock lock(mu_);
  TracedStep::Part* const part = step_.add_part();
  part->set_task(task);
  part->set_start_nanos(absl::ToUnixNanos(start));
  part->set_end_nanos(now);
  part->set_code(static_cast<int>(status.code()));
  for (auto& device : *stats.mutable_dev_stats()) *step_.mutable_stats()->add_dev_stats() = std::move(device);
}

TracedStep StepRecording::Finish(const absl::Status& status) {
  MutexLock lock(mu_);
  step_.set_end_nanos(TraceClockNanos());
  step_.set_code(static_cast<int>(status.code()));
  step_.set_error(std::string(status.message()));
  return std::move(step_);
}

StepTracer::StepTracer(std::string task, TimerQueue* timers, const Limits& limits)
    : task_(std::move(task)), timers_(timers), limits_(limits) {}

StepTracer::~StepTracer() {
  std::optional<TimerQueue::Token> timer;
  {
    MutexLock lock(mu_);
    is_ending_ = true;
    timer = timer_;
  }
  if (timer.has_value()) timers_->Cancel(*timer);
}

std::shared_ptr<StepRecording> StepTracer::Begin(int64_t step_id, const std::string& session, bool for_client) {
  std::vector<uint64_t> ids;
  {
    MutexLock lock(mu_);
    for (auto& [id, tracer] : tracers_) {
      if (tracer.wanted == 0) continue;
      --tracer.wanted;
      ++tracer.running;
      ids.push_back(id);
    }
    UpdateIsOn();
  }
  if (ids.empty()) return nullptr;
  TracedStep step;
  step.set_step_id(step_id);
  step.set_session(session);
  step.set_master(task_);
  step.set_start_nanos(TraceClockNanos());
  return std::make_shared<StepRecording>(std::move(ids), std::move(step), for_client);
}

void StepTracer::End(StepRecording& recording, const absl::Status& status) {
  const auto step = std::make_shared<const TracedStep>(recording.Finish(status));
  MutexLock lock(mu_);
  for (const uint64_t id : recording.tracers()) {
    const auto found = tracers_.find(id);
    if (found == tracers_.end()) continue;  // ended meanwhile
    --found->second.running;
    Keep(found->second, step);
  }
}

void StepTracer::Keep(Tracer& tracer, const SharedStep& step) {
  const int64_t bytes = static_cast<int64_t>(step->ByteSizeLong());
  if (tracer.bytes + bytes > limits_.bytes) {
    ++tracer.dropped;
    return;
  }
  tracer.bytes += bytes;
  tracer.steps.push_back(step);
}

void StepTracer::Forget(Tracer& tracer, int64_t received) {
  while (tracer.received < received && !tracer.steps.empty()) {
    tracer.bytes -= static_cast<int64_t>(tracer.steps.front()->ByteSizeLong());
    tracer.steps.pop_front();
    ++tracer.received;
  }
}

absl::StatusOr<StepTracer::Tracer*> StepTracer::FindOrAdd(const TraceStepsRequest& request) {
  if (const auto found = tracers_.find(request.tracer()); found != tracers_.end()) return &found->second;
  if (request.steps() < 1 || request.steps() > limits_.steps) {
    return errors::InvalidArgument("A tracer records from 1 to ", limits_.steps, " steps, not ", request.steps());
  }
  if (tracers_.size() >= static_cast<size_t>(limits_.tracers)) {
    return errors::ResourceExhausted("Task ", task_, " already has ", tracers_.size(),
                                     " tracers: wait until one has ended");
  }
  Tracer& tracer = tracers_[request.tracer()];
  tracer.wanted = request.steps();
  tracer.received = std::max<int64_t>(0, request.received());  // of a tracer that this task had before its restart
  return &tracer;
}

absl::Status StepTracer::Serve(const TraceStepsRequest& request, TraceStepsResponse* response) {
  std::vector<SharedStep> steps;
  std::deque<SharedStep> unused;  // destroyed without the lock
  {
    MutexLock lock(mu_);
    if (request.end()) {
      if (const auto found = tracers_.find(request.tracer()); found != tracers_.end()) {
        unused.swap(found->second.steps);
        tracers_.erase(found);
      }
      UpdateIsOn();
    } else {
      ASSIGN_OR_RETURN(Tracer* const tracer, FindOrAdd(request));
      tracer->expires = MonotonicNow() + limits_.lease;
      ScheduleExpiry();
      UpdateIsOn();
      Forget(*tracer, request.received());
      int64_t bytes = 0;
      for (const SharedStep& step : tracer->steps) {
        bytes += static_cast<int64_t>(step->ByteSizeLong());
        if (bytes > limits_.response && !steps.empty()) break;
        steps.push_back(step);
      }
      response->set_dropped(tracer->dropped);
      response->set_running(tracer->running);
    }
  }
  for (const SharedStep& step : steps) *response->add_step() = *step;
  response->set_clock_nanos(TraceClockNanos());
  return absl::OkStatus();
}

void StepTracer::UpdateIsOn() {
  const bool is_on =
      std::any_of(tracers_.begin(), tracers_.end(), [](const auto& entry) { return entry.second.wanted > 0; });
  is_on_.store(is_on, std::memory_order_relaxed);
}

void StepTracer::ScheduleExpiry() {
  if (is_scheduled_ || tracers_.empty() || is_ending_) return;
  absl::Time next = absl::InfiniteFuture();
  for (const auto& [id, tracer] : tracers_) next = std::min(next, tracer.expires);
  timer_ = timers_->Schedule(next, [this] { Expire(); });
  is_scheduled_ = true;
}

void StepTracer::Expire() {
  std::vector<Tracer> ended;
  const absl::Time now = MonotonicNow();
  MutexLock lock(mu_);
  is_scheduled_ = false;
  for (auto it = tracers_.begin(); it != tracers_.end();) {
    if (it->second.expires > now) {
      ++it;
      continue;
    }
    ended.push_back(std::move(it->second));
    it = tracers_.erase(it);
  }
  UpdateIsOn();
  ScheduleExpiry();
}

size_t StepTracer::num_tracers() const {
  MutexLock lock(mu_);
  return tracers_.size();
}

}  // namespace weir
