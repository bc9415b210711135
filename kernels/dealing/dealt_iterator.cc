#include "kernels/dealing/dealt_iterator.h"

#include <utility>

namespace weir {
namespace {

bool IsSameBatch(const DealtRange& a, const DealtRange& b) {
  return a.epoch == b.epoch && a.chunk == b.chunk && a.begin == b.begin && a.count == b.count;
}

absl::Status CheckRows(const DealtRange& range, const Element& batch) {
  for (const Tensor& component : batch) {
    if (component.dims() > 0 && component.dim_size(0) == range.count) continue;
    return errors::InvalidArgument("The dataset of chunk ", range.chunk, " gives a tensor of shape ",
                                   component.shape().ToString(), " for examples ", range.begin, " to ",
                                   range.begin + range.count,
                                   ": it must give batches of batch_size examples from `begin` on");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status DealtIterator::CheckMatches(const DataTypeVector& types,
                                         const std::vector<PartialTensorShape>& shapes) const {
  RETURN_IF_ERROR(CheckTypesMatch(types, types_));
  return CheckShapesCompatible(shapes, shapes_);
}

void DealtIterator::GetNext(const StepContext& step, const DealtRange& range, MakeDataset make, DoneCallback done) {
  absl::StatusOr<Element> kept = Element();
  std::shared_ptr<IteratorResource> iterator, closed;  // the latter is destroyed with no lock held
  bool opens = false;
  {
    MutexLock lock(mu_);
    if (is_busy_) {
      kept = errors::Aborted("The dealt iterator serves another step: steps with one iterator run one after the other");
    } else if (position_ && !position_->batch.empty() && IsSameBatch(position_->last, range)) {
      kept = position_->batch;
    } else {
      const bool follows = position_ && position_->epoch == range.epoch && position_->chunk == range.chunk &&
                           position_->next == range.begin && range.begin + range.count <= position_->end;
      if (!follows) {
        opens = true;
        // The one before ends what it reads ahead.
        closed = std::exchange(iterator_, std::make_shared<IteratorResource>(device_, types_, shapes_));
        position_ = Position{.epoch = range.epoch, .chunk = range.chunk, .next = range.begin, .end = range.end};
      }
      position_->batch.clear();
      iterator = iterator_;
      is_busy_ = true;
    }
  }
  if (iterator == nullptr) return done(std::move(kept));
  auto got = [self = shared_from_this(), range, done = std::move(done)](
                 absl::StatusOr<IteratorResource::Result> result) { self->Got(range, std::move(result), done); };
  if (!opens) return iterator->GetNext(step, std::move(got));
  iterator->SetDatasetOnce(step, std::move(make), [iterator, &step, got = std::move(got)](absl::Status status) {
    if (!status.ok()) return got(std::move(status));
    iterator->GetNext(step, got);
  });
}

void DealtIterator::Got(const DealtRange& range, absl::StatusOr<IteratorResource::Result> result,
                        const DoneCallback& done) {
  absl::Status status = result.status();
  if (status.ok() && !result->has_element) {
    status = errors::InvalidArgument("The dataset of chunk ", range.chunk, " ends before example ", range.begin,
                                     ", and the dealer's chunk has ", range.end, " or more");
  }
  if (status.ok()) status = CheckRows(range, result->element);
  std::shared_ptr<IteratorResource> closed;
  {
    MutexLock lock(mu_);
    is_busy_ = false;
    if (status.ok()) {
      position_->last = range;
      position_->next = range.begin + range.count;
      position_->batch = result->element;
    } else {
      // It may have moved, or not: the next range opens a dataset anew.
      closed = std::move(iterator_);
      position_.reset();
    }
  }
  if (!status.ok()) return done(std::move(status));
  done(std::move(result->element));
}

}  // namespace weir
