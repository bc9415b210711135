#include "kernels/embedding/push_barrier.h"

#include <algorithm>
#include <utility>

namespace weir {

void PushBarrier::End(std::unique_ptr<Waiting> waiting, const absl::Status& status) {
  if (waiting->push.cancellation != nullptr) waiting->push.cancellation->TryDeregister(waiting->token);
  waiting->push.done(status);
}

void PushBarrier::Drop(const Push& push, const absl::Status& status) {
  push.leave != nullptr ? push.leave() : push.done(status);
}

void PushBarrier::Add(Push push, const Apply& apply) {
  std::unique_ptr<Waiting> replaced;
  std::vector<std::unique_ptr<Waiting>> complete;
  auto waiting = std::make_unique<Waiting>();
  const Push& own = waiting->push = std::move(push);
  const int worker = own.worker, workers = own.workers;
  CancellationManager* const cancellation = own.cancellation;
  absl::Status refused, cancelled;
  {
    MutexLock lock(mu_);
    if (std::all_of(waiting_.begin(), waiting_.end(), [](const auto& w) { return w == nullptr; })) {
      waiting_.clear();
      waiting_.resize(workers);
    }
    waiting->id = next_id_++;
    if (waiting_.size() != workers) {
      refused =
          errors::InvalidArgument("Worker ", worker, " pushes as one of ", workers, ", others as of ", waiting_.size());
    } else if (cancellation != nullptr) {
      waiting->token = cancellation->Register([weak = weak_from_this(), worker, id = waiting->id, cancellation] {
        if (const auto self = weak.lock()) self->Cancel(worker, id, cancellation->status());
      });
      if (waiting->token == CancellationManager::kInvalidToken) cancelled = cancellation->status();
    }
    if (refused.ok() && cancelled.ok()) {
      replaced = std::exchange(waiting_[worker], std::move(waiting));
      const bool is_complete =
          std::all_of(waiting_.begin(), waiting_.end(), [](const auto& w) { return w != nullptr; });
      if (is_complete) complete = std::exchange(waiting_, {});
    }
  }
  if (!refused.ok()) return own.done(refused);
  if (!cancelled.ok()) return Drop(own, cancelled);
  if (replaced != nullptr) {
    CancellationManager* const of_replaced = replaced->push.cancellation;
    if (of_replaced != nullptr) of_replaced->TryDeregister(replaced->token);
    Drop(replaced->push, errors::Aborted("Worker ", worker, " has pushed again: this step of it is over"));
  }
  if (complete.empty()) return;
  std::vector<Push> pushes;
  for (const auto& w : complete) pushes.push_back(w->push);
  const absl::Status status = apply(pushes);
  for (auto& w : complete) End(std::move(w), status);
}

void PushBarrier::Cancel(int worker, int64_t id, const absl::Status& status) {
  std::unique_ptr<Waiting> cancelled;
  {
    MutexLock lock(mu_);
    if (worker < waiting_.size() && waiting_[worker] != nullptr && waiting_[worker]->id == id) {
      cancelled = std::move(waiting_[worker]);
    }
  }
  if (cancelled != nullptr) Drop(cancelled->push, status);
}

void PushBarrier::Abort(const absl::Status& status) {
  std::vector<std::unique_ptr<Waiting>> ended;
  {
    MutexLock lock(mu_);
    ended = std::exchange(waiting_, {});
  }
  for (auto& waiting : ended) {
    if (waiting != nullptr) End(std::move(waiting), status);
  }
}

}  // namespace weir
