#include "distribute/collective/task/step_watch.h"

#include <optional>
#include <utility>

#include "absl/time/clock.h"
#include "core/clock.h"
#include "distribute/collective/task/task_collectives.h"

namespace weir {
namespace {

constexpr absl::Duration kPause = absl::Seconds(1), kCheckTimeout = absl::Seconds(5);

}  // namespace

StepWatch::Ops StepWatch::Alive() {
  Ops alive;
  std::erase_if(ops_, [&](const std::weak_ptr<WatchedOp>& known) {
    std::shared_ptr<WatchedOp> op = known.lock();
    if (op == nullptr) return true;
    alive.push_back(std::move(op));
    return false;
  });
  next_sweep_ = 64 + 2 * ops_.size();
  return alive;
}

void StepWatch::ScheduleLook() {
  timer_ = task_->options().timers->Schedule(MonotonicNow() + kPause, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->Look();
  });
}

void StepWatch::Add(std::weak_ptr<WatchedOp> op) {
  if (task_->options().timers == nullptr) return;
  Ops alive;  // destroyed without the lock
  MutexLock lock(mu_);
  if (stopped_) return;
  if (ops_.size() >= next_sweep_) alive = Alive();
  ops_.push_back(std::move(op));
  if (!timer_) ScheduleLook();
}

void StepWatch::Look() {
  Ops ops;
  {
    MutexLock lock(mu_);
    timer_.reset();
    if (stopped_) return;
    ops = Alive();
    if (!ops.empty()) ScheduleLook();
  }
  for (const auto& op : ops) {
    op->WatchReceivers();
    if (const std::shared_ptr<const FormedGroup> group = op->Group(); group != nullptr) Check(*op, group);
  }
}

void StepWatch::Check(const WatchedOp& op, const std::shared_ptr<const FormedGroup>& group) {
  {
    MutexLock lock(mu_);
    if (stopped_ || !asked_.insert(group->formation).second) return;
  }
  task_->CheckGroup({.deadline = MonotonicNow() + kCheckTimeout, .cancellation = &cancellation_},
                    {leader_, op.params().group, op.params().name, &op.device()}, *group,
                    [self = shared_from_this(), group](const absl::Status& status) {
                      {
                        MutexLock lock(self->mu_);
                        self->asked_.erase(group->formation);
                      }
                      // If the leader is unreachable, the members keep their formation.
                      if (absl::IsAborted(status)) self->GivenUp(*group);
                    });
}

void StepWatch::GivenUp(const FormedGroup& group) {
  Ops ops;
  {
    MutexLock lock(mu_);
    ops = Alive();
  }
  for (const auto& op : ops) {
    const std::shared_ptr<const FormedGroup> of_op = op->Group();
    if (of_op == nullptr || of_op->formation != group.formation) continue;
    op->Cancel(errors::Aborted("Collective group ", group.key, " was formed anew while ", op->params().name, " at ",
                               op->device().name(), " waited for its peers"));
  }
}

void StepWatch::Stop() {
  std::optional<TimerQueue::Token> timer;
  {
    MutexLock lock(mu_);
    stopped_ = true;
    timer = std::exchange(timer_, std::nullopt);
  }
  if (timer) task_->options().timers->Cancel(*timer);
  cancellation_.StartCancel(errors::Cancelled("The step has ended"));
}

}  // namespace weir
