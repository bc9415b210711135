#include "kernels/data/iterators/multi_device_iterator.h"

#include <algorithm>

namespace weir {

MultiDeviceIterator::MultiDeviceIterator(Device* device, DataTypeVector types, std::vector<PartialTensorShape> shapes,
                                         int64_t shards)
    : device_(device), types_(std::move(types)), shapes_(std::move(shapes)), shards_(shards) {}

absl::Status MultiDeviceIterator::CheckMatches(const DataTypeVector& types,
                                               const std::vector<PartialTensorShape>& shapes) const {
  if (types.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(CheckTypesMatch(types, types_));
  return shapes.empty() ? absl::OkStatus() : CheckShapesCompatible(shapes, shapes_);
}

void MultiDeviceIterator::Init(const StepContext& step, DatasetPtr dataset, int64_t max_buffer_size,
                               std::function<void(absl::StatusOr<int64_t>)> done) {
  auto pass = std::make_shared<Pass>(static_cast<size_t>(shards_));
  pass->iterator = std::make_shared<IteratorResource>(device_, types_, shapes_);
  pass->step.device = device_;
  pass->step.session_handle = step.session_handle;
  pass->iterator->SetDataset(
      step, std::move(dataset),
      [self = shared_from_this(), pass, max_buffer_size, done = std::move(done)](absl::Status status) {
        if (!status.ok()) return done(std::move(status));
        int64_t incarnation;
        std::deque<Waiter> stale;
        {
          MutexLock lock(self->mu_);
          self->pass_ = pass;
          self->max_buffer_ = std::max<int64_t>(1, max_buffer_size);
          incarnation = ++self->incarnation_;
          stale = std::exchange(self->waiters_, {});
        }
        for (Waiter& waiter : stale) {
          if (waiter.cancellation != nullptr) waiter.cancellation->TryDeregister(waiter.token);
          waiter.done(errors::Cancelled("The multi-device iterator was initialised anew"));
        }
        done(incarnation);
      });
}

void MultiDeviceIterator::GetNext(const StepContext& step, int64_t shard, int64_t incarnation, DoneCallback done) {
  Waiter waiter;
  waiter.shard = shard;
  waiter.done = std::move(done);
  waiter.cancellation = step.cancellation;
  absl::Status status;
  {
    MutexLock lock(mu_);
    waiter.id = next_id_++;
    if (pass_ == nullptr) {
      status = errors::FailedPrecondition("The multi-device iterator has not been initialized.");
    } else if (incarnation != incarnation_) {
      status = errors::InvalidArgument("Invalid incarnation id. Provided: ", incarnation, "; Expected: ", incarnation_);
    } else if (shard < 0 || shard >= shards_) {
      status = errors::InvalidArgument("Invalid shard number ", shard, " of ", shards_);
    }
  }
  if (!status.ok()) return waiter.done(std::move(status));
  if (CancellationManager* const caller = step.cancellation; caller != nullptr) {
    waiter.token = caller->Register([weak = weak_from_this(), id = waiter.id] {
      if (auto self = weak.lock()) self->Drop(id);
    });
    if (waiter.token == CancellationManager::kInvalidToken) return waiter.done(caller->status());
  }
  const CancellationManager::Token token = waiter.token;
  const DoneCallback refused = waiter.done;
  {
    MutexLock lock(mu_);
    // Cancellation may have come before the waiter is there to be dropped, and another pass before it is in line.
    if (step.cancellation != nullptr && step.cancellation->IsCancelled()) {
      status = step.cancellation->status();
    } else if (incarnation != incarnation_) {
      status = errors::InvalidArgument("Invalid incarnation id. Provided: ", incarnation, "; Expected: ", incarnation_);
    } else {
      waiters_.push_back(std::move(waiter));
    }
  }
  if (status.ok()) return Serve(shared_from_this());
  if (step.cancellation != nullptr) step.cancellation->TryDeregister(token);
  refused(std::move(status));
}

void MultiDeviceIterator::Drop(int64_t id) {
  Waiter dropped;
  {
    MutexLock lock(mu_);
    const auto it = std::find_if(waiters_.begin(), waiters_.end(), [id](const Waiter& w) { return w.id == id; });
    if (it == waiters_.end()) return;
    dropped = std::move(*it);
    waiters_.erase(it);
  }
  dropped.done(dropped.cancellation->status());
}

bool MultiDeviceIterator::MayRead() const {
  if (pass_->is_reading || pass_->at_end || waiters_.empty()) return false;
  return static_cast<int64_t>(pass_->kept[pass_->next].size()) < max_buffer_;
}

void MultiDeviceIterator::Serve(std::shared_ptr<MultiDeviceIterator> self) {
  std::vector<std::pair<Waiter, absl::StatusOr<IteratorResource::Result>>> served;
  std::shared_ptr<Pass> reading;
  {
    MutexLock lock(self->mu_);
    Pass& pass = *self->pass_;
    for (auto it = self->waiters_.begin(); it != self->waiters_.end();) {
      auto& kept = pass.kept[it->shard];
      if (kept.empty() && !pass.at_end) {
        ++it;
        continue;
      }
      absl::StatusOr<IteratorResource::Result> result = IteratorResource::Result();
      if (!kept.empty()) {
        result = std::move(kept.front());
        kept.pop_front();
      }
      served.emplace_back(std::move(*it), std::move(result));
      it = self->waiters_.erase(it);
    }
    if (self->MayRead()) {
      pass.is_reading = true;
      reading = self->pass_;
    }
  }
  if (reading != nullptr) {
    IteratorResource& iterator = *reading->iterator;
    const StepContext& step = reading->step;
    iterator.GetNext(step, [self = std::move(self),
                            reading = std::move(reading)](absl::StatusOr<IteratorResource::Result> result) mutable {
      Take(std::move(self), std::move(reading), std::move(result));
    });
  }
  self.reset();
  for (auto& [waiter, result] : served) {
    if (waiter.cancellation != nullptr) waiter.cancellation->TryDeregister(waiter.token);
    waiter.done(std::move(result));
  }
}

void MultiDeviceIterator::Take(std::shared_ptr<MultiDeviceIterator> self, std::shared_ptr<Pass> pass,
                               absl::StatusOr<IteratorResource::Result> result) {
  {
    MutexLock lock(self->mu_);
    pass->is_reading = false;
    if (result.ok() && !result->has_element) {
      pass->at_end = true;
    } else {
      pass->kept[pass->next].push_back(std::move(result));
      pass->next = (pass->next + 1) % self->shards_;
    }
  }
  pass.reset();
  Serve(std::move(self));
}

}  // namespace weir
