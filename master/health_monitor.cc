#include "master/health_monitor.h"

#include <algorithm>

#include "absl/time/clock.h"
#include "core/clock.h"
#include "distribute/transport/liveness/peer_bytes.h"

namespace weir {
namespace {

bool HasPart(const Step& step, const UsedTasks::Task& task) {
  const auto& parts = step.graph().parts();
  return std::any_of(parts.begin(), parts.end(), [&](const auto& part) { return part.worker == task.worker; });
}

bool Concerns(const UsedTasks::Task& task, const Step& step) {
  const std::vector<UsedTasks::Task> others = step.OtherTasks();
  return std::any_of(others.begin(), others.end(), [&](const auto& other) {
    return other.worker == task.worker && other.incarnation == task.incarnation;
  });
}

// The step's oldest wait at a shared object, if it is as old as that; null: there is none.
const StepWait* LongestWait(const StepWaitsById& waits, const Step& step, absl::Duration age) {
  const StepWait* longest = nullptr;
  const auto of_step = waits.find(step.step_id());
  if (of_step == waits.end()) return nullptr;
  for (const StepWait& wait : of_step->second) {
    if (wait.shared_object().empty() || absl::Microseconds(wait.waited_micros()) < age) continue;
    if (longest == nullptr || wait.waited_micros() > longest->waited_micros()) longest = &wait;
  }
  return longest;
}

}  // namespace

struct HealthMonitor::Probe {
  tensorflow::GetStatusRequest request;
  tensorflow::GetStatusResponse response;
  UsedTasks::Task task;
};

HealthMonitor::HealthMonitor(Options options) : options_(std::move(options)), thread_([this] { Loop(); }) {}

HealthMonitor::~HealthMonitor() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
  cancellation_.StartCancel(absl::CancelledError("The master is shutting down"));
  MutexLock lock(mu_);
  while (!probes_.empty() || surveys_ > 0) lock.Wait(changed_);
}

void HealthMonitor::Loop() {
  while (true) {
    {
      MutexLock lock(mu_);
      const absl::Time next = MonotonicNow() + options_.interval;
      while (!stopping_ && MonotonicNow() < next) lock.WaitUntil(changed_, ToSteady(next));
      if (stopping_) return;
    }
    CheckSteps();
  }
}

void HealthMonitor::CheckSteps() {
  for (const auto& step : options_.running_steps(MonotonicNow() - options_.slow_step)) {
    for (const auto& part : step->graph().parts()) {
      if (!part.is_local) Ask({part.task, part.worker, part.incarnation});
    }
    for (const UsedTasks::Task& task : step->OtherTasks()) Ask(task);
  }
}

void HealthMonitor::Ask(const UsedTasks::Task& task) {
  auto probe = std::make_shared<Probe>();
  probe->task = task;
  {
    MutexLock lock(mu_);
    if (!probes_.emplace(task.worker.get(), probe).second) return;
  }
  const CallOptions call{.deadline = MonotonicNow() + options_.answer_timeout, .cancellation = &cancellation_};
  task.worker->GetStatusAsync(call, &probe->request, &probe->response, [this, probe](const absl::Status& status) {
    Answered(*probe, status);
    MutexLock lock(mu_);
    probes_.erase(probe->task.worker.get());
    changed_.notify_all();
  });
}

void HealthMonitor::Answered(const Probe& probe, const absl::Status& status) {
  const UsedTasks::Task& task = probe.task;
  if (cancellation_.IsCancelled()) return;
  if (absl::IsResourceExhausted(status)) return FailParts(task, status);  // it is this process that lacks files
  if (IsTransferring(status)) return;                                     // the answer waits behind a large message
  if (!status.ok()) {
    FailParts(task, WithOrigin(errors::Unavailable("Task ", task.name, " does not answer and is considered lost: ",
                                                   status.message(), ". Restart it; the next step reconnects to it."),
                               ErrorOrigin{.task = task.name}));
    return CheckWaits(task, absl::StrCat("it does not answer: ", status.message()));
  }
  const auto& devices = probe.response.device_attributes();
  if (!devices.empty() && devices[0].incarnation() != task.incarnation) CheckWaits(task, "it has restarted");
}

void HealthMonitor::FailParts(const UsedTasks::Task& task, const absl::Status& failure) const {
  for (const auto& step : options_.running_steps(absl::InfiniteFuture())) {
    if (HasPart(*step, task)) step->Fail(failure);
  }
}

void HealthMonitor::CheckWaits(const UsedTasks::Task& task, const std::string& reason) {
  absl::flat_hash_map<std::string, std::vector<std::shared_ptr<Step>>> by_session;
  for (auto& step : options_.running_steps(MonotonicNow() - options_.slow_step)) {
    if (Concerns(task, *step)) by_session[step->session_handle()].push_back(std::move(step));
  }
  for (const auto& [session, steps] : by_session) {
    {
      MutexLock lock(mu_);
      if (stopping_) return;
      ++surveys_;
    }
    SurveyWaits(steps, MonotonicNow() + options_.answer_timeout,
                [this, task, reason, steps = steps](const StepWaitsById& waits) {
                  FailWaits(task, reason, steps, waits);
                  MutexLock lock(mu_);
                  --surveys_;
                  changed_.notify_all();
                });
  }
}

void HealthMonitor::FailWaits(const UsedTasks::Task& task, const std::string& reason,
                              const std::vector<std::shared_ptr<Step>>& steps, const StepWaitsById& waits) const {
  const auto longest = [&](const Step& step) { return LongestWait(waits, step, options_.slow_step); };
  if (!std::all_of(steps.begin(), steps.end(), [&](const auto& step) { return longest(*step) != nullptr; })) return;
  for (const auto& step : steps) {
    step->Fail(WithOrigin(
        errors::Unavailable("The step waits for ", DescribeWait(*longest(*step)), " and would not end: task ",
                            task.name, ", which its session has used, is lost (", reason,
                            "), and no other step of the session is about to end the wait. Restart ", task.name,
                            ", or run the step again without it"),
        ErrorOrigin{.task = task.name}));
  }
}

}  // namespace weir
