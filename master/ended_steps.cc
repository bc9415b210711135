#include "master/ended_steps.h"

#include <utility>

#include "core/clock.h"

namespace weir {

EndedSteps::~EndedSteps() {
  std::optional<TimerQueue::Token> timer;
  {
    MutexLock lock(mu_);
    is_ending_ = true;
    timer = timer_;
  }
  if (timer) timers_->Cancel(*timer);
  Flush();
}

void EndedSteps::Add(int64_t step_id, std::shared_ptr<const ClientGraph> graph) {
  if (timers_ == nullptr) return Cleanup(step_id, *graph);
  MutexLock lock(mu_);
  ended_.push_back({step_id, std::move(graph)});
  if (timer_) return;
  Schedule();
}

// The timer is known until its callback has ended, so that the destructor can wait for it.
void EndedSteps::Schedule() {
  timer_ = timers_->Schedule(MonotonicNow() + kGather, [this] {
    Flush();
    MutexLock lock(mu_);
    timer_.reset();
    if (!ended_.empty() && !is_ending_) Schedule();
  });
}

void EndedSteps::Flush() {
  std::vector<Ended> ended;
  {
    MutexLock lock(mu_);
    ended.swap(ended_);
  }
  for (const Ended& step : ended) Cleanup(step.step_id, *step.graph);
}

void EndedSteps::Cleanup(int64_t step_id, const ClientGraph& graph) {
  struct Call {
    tensorflow::CleanupGraphRequest request;
    tensorflow::CleanupGraphResponse response;
    std::shared_ptr<WorkerInterface> worker;
  };
  const CallOptions call{.deadline = MonotonicNow() + absl::Seconds(5)};
  for (const auto& part : graph.parts()) {
    auto pending = std::make_shared<Call>();
    pending->worker = part.worker;
    pending->request.set_step_id(step_id);
    // An unreachable task has lost the step's state, or drops it with the session.
    part.worker->CleanupGraphAsync(call, &pending->request, &pending->response,
                                   [pending](const absl::Status& status) {});
  }
}

}  // namespace weir
