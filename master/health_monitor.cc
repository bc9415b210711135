#include "master/health_monitor.h"

#include "absl/time/clock.h"
#include "core/clock.h"

namespace weir {

struct HealthMonitor::Probe {
  tensorflow::GetStatusRequest request;
  tensorflow::GetStatusResponse response;
  std::shared_ptr<WorkerInterface> worker;
};

HealthMonitor::HealthMonitor(Options options) : options_(std::move(options)), thread_([this] { Loop(); }) {}

HealthMonitor::~HealthMonitor() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
  MutexLock lock(mu_);
  while (!probes_.empty()) lock.Wait(changed_);
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
      if (!part.is_local) Ask(part.task, part.worker);
    }
  }
}

void HealthMonitor::Ask(const std::string& task, std::shared_ptr<WorkerInterface> worker) {
  auto probe = std::make_shared<Probe>();
  probe->worker = std::move(worker);
  {
    MutexLock lock(mu_);
    if (!probes_.emplace(probe->worker.get(), probe).second) return;
  }
  const CallOptions call{.deadline = MonotonicNow() + options_.answer_timeout};
  probe->worker->GetStatusAsync(call, &probe->request, &probe->response, [this, task, probe](absl::Status status) {
    if (!status.ok()) {
      const absl::Status failure =
          WithOrigin(errors::Unavailable("Task ", task, " does not answer and is considered lost: ", status.message(),
                                         ". Restart it; the next step reconnects to it."),
                     ErrorOrigin{.task = task});
      for (const auto& step : options_.running_steps(absl::InfiniteFuture())) {
        for (const auto& part : step->graph().parts()) {
          if (part.worker == probe->worker) step->Fail(failure);
        }
      }
    }
    MutexLock lock(mu_);
    probes_.erase(probe->worker.get());
    changed_.notify_all();
  });
}

}  // namespace weir
