#include "kernels/coordination/barrier.h"

#include <limits>

namespace weir {
namespace {

std::shared_ptr<Queue> MakeReadyQueue(const Barrier::Options& barrier) {
  Queue::Options options;
  options.kind = "PriorityQueue";
  options.name = barrier.name + "_queue";
  options.order = Queue::Order::kPriority;
  options.types = barrier.types;
  options.types.insert(options.types.begin(), {DT_INT64, DT_STRING});
  if (!barrier.shapes.empty()) {
    options.shapes = barrier.shapes;
    options.shapes.insert(options.shapes.begin(), 2, TensorShape());
  }
  return std::make_shared<Queue>(std::move(options));
}

}  // namespace

Barrier::Barrier(Options options)
    : options_(std::move(options)),
      ready_(MakeReadyQueue(options_)),
      next_index_(std::numeric_limits<int64_t>::min()) {}

std::string Barrier::DebugString() const {
  return absl::StrCat("Barrier '", options_.name, "' of ", DataTypeListName(options_.types), ", ", ready_size(),
                      " tuples and ", incomplete_size(), " that are incomplete");
}

int64_t Barrier::incomplete_size() const {
  MutexLock lock(mu_);
  return static_cast<int64_t>(incomplete_.size());
}

absl::Status Barrier::Check(int64_t component, const Tensor& keys, const Tensor& values) const {
  if (component < 0 || component >= static_cast<int64_t>(options_.types.size())) {
    return errors::InvalidArgument("The component ID is out of range ", component,
                                   " > num_components (= ", options_.types.size(), ")");
  }
  if (values.dtype() != options_.types[component]) {
    return errors::InvalidArgument("Signature mismatch, have values of type ", DataTypeName(values.dtype()),
                                   " expected ", DataTypeName(options_.types[component]));
  }
  if (keys.dtype() != DT_STRING || keys.dims() != 1) {
    return errors::InvalidArgument("Keys must be a vector of strings, got ", keys.shape().ToString());
  }
  if (values.dims() < 1 || values.dim_size(0) != keys.NumElements()) {
    return errors::InvalidArgument("Expected as many values as keys (", keys.NumElements(), "), got shape ",
                                   values.shape().ToString());
  }
  TensorShape element = values.shape();
  element.RemoveDim(0);
  if (!options_.shapes.empty() && !options_.shapes[component].IsCompatibleWith(element)) {
    return errors::InvalidArgument("Shape mismatch in tuple component ", component, ". Expected ",
                                   options_.shapes[component].ToString(), ", got ", element.ToString());
  }
  if (keys.NumElements() > 0 && values.NumElements() == 0) {
    return errors::InvalidArgument("Tensors with no elements are not supported ", options_.name, ": received shape ",
                                   values.shape().ToString());
  }
  return absl::OkStatus();
}

void Barrier::Insert(OpKernelContext& ctx, int64_t component, const Tensor& keys, const Tensor& values,
                     DoneCallback done) {
  if (absl::Status status = Check(component, keys, values); !status.ok()) return done(std::move(status));
  std::vector<Queue::Tuple> complete;
  absl::Status status;
  {
    MutexLock lock(mu_);
    const int64_t n = keys.NumElements();
    if (closed_ && (cancel_pending_ || (n > 0 && incomplete_.empty()))) {
      status = errors::Cancelled(
          "Barrier ", options_.name, " is closed.  Pending enqueues cancelled: ", cancel_pending_,
          ".  Number of new insertions: ", n, ".  Number of incomplete keys: ", incomplete_.size(), ".");
    }
    bool is_new = false;
    for (int64_t i = 0; i < n && status.ok(); ++i) {
      status = InsertOne(component, keys.data<tstring>()[i], values.SubSlice(i), i, &is_new, &complete);
    }
    if (is_new) ++next_index_;
  }
  // What was complete before an error came stays so.
  if (complete.empty()) return done(std::move(status));
  ready_->Enqueue(std::move(complete), ctx.cancellation(),
                  [self = shared_from_this(), status, done = std::move(done)](absl::Status enqueued) {
                    if (enqueued.ok()) self->CloseQueueIfDone();
                    done(status.ok() ? enqueued : status);
                  });
}

absl::Status Barrier::InsertOne(int64_t component, const std::string& key, const Tensor& value, int64_t i, bool* is_new,
                                std::vector<Queue::Tuple>* complete) {
  auto found = incomplete_.find(key);
  if (found == incomplete_.end()) {
    if (closed_) {
      return errors::Cancelled("Barrier ", options_.name, " is closed, but attempted to insert a brand new key: ", key,
                               ".  Pending enqueues cancelled: ", cancel_pending_, ".  Insertion index: ", i,
                               ".  Number of incomplete keys: ", incomplete_.size(), ".");
    }
    *is_new = true;
    Incomplete tuple;
    tuple.index = next_index_;
    tuple.components.resize(options_.types.size());
    tuple.present.resize(options_.types.size());
    found = incomplete_.emplace(key, std::move(tuple)).first;
  }
  Incomplete& tuple = found->second;
  if (tuple.present[component]) {
    return errors::InvalidArgument("Key ", key, " already has a value for component ", component, " in barrier ",
                                   options_.name);
  }
  ASSIGN_OR_RETURN(tuple.components[component], value.DeepCopy());
  tuple.present[component] = true;
  for (const bool present : tuple.present) {
    if (!present) return absl::OkStatus();
  }
  Queue::Tuple element = {Tensor::Scalar(tuple.index), Tensor::Scalar<tstring>(key)};
  for (Tensor& part : tuple.components) element.push_back(std::move(part));
  complete->push_back(std::move(element));
  incomplete_.erase(found);
  return absl::OkStatus();
}

absl::StatusOr<int64_t> Barrier::CountToTake(int64_t count, bool allow_small_batch) const {
  if (count < 0) return errors::InvalidArgument("Barrier '", options_.name, "' was asked for ", count, " < 0 elements");
  MutexLock lock(mu_);
  if (!closed_) return count;
  // A small batch does not wait for tuples that are incomplete.
  const int64_t ready = ready_->size();
  const int64_t available = allow_small_batch ? ready : ready + static_cast<int64_t>(incomplete_.size());
  const int64_t deliver = allow_small_batch ? std::min(count, ready) : count;
  if (available >= std::max<int64_t>(deliver, 1)) return deliver;
  return errors::OutOfRange("Barrier '", options_.name, "' is closed and has insufficient elements (requested ",
                            deliver, ", total size ", available, ")");
}

void Barrier::Take(OpKernelContext& ctx, int64_t count, bool allow_small_batch, TakeCallback done) {
  if (options_.shapes.empty()) {
    return done(errors::InvalidArgument("Barrier '", options_.name,
                                        "': taking many requires the components to have specified shapes."));
  }
  const absl::StatusOr<int64_t> deliver = CountToTake(count, allow_small_batch);
  if (!deliver.ok()) return done(deliver.status());
  if (*deliver == 0) return done(ready_->Stack(ctx, {}));
  ready_->Dequeue(
      *deliver, allow_small_batch, ctx.cancellation(),
      [self = shared_from_this(), &ctx, done = std::move(done)](absl::StatusOr<std::vector<Queue::Tuple>> t) {
        if (!t.ok()) return done(t.status());
        done(self->ready_->Stack(ctx, *t));
      });
}

void Barrier::Close(bool cancel_pending, DoneCallback done) {
  {
    MutexLock lock(mu_);
    // The second close may be harder than the first.
    if (closed_ && (cancel_pending_ || !cancel_pending)) {
      return done(errors::Cancelled("Barrier '", options_.name, "' is already closed."));
    }
    closed_ = true;
    cancel_pending_ = cancel_pending;
    if (cancel_pending) incomplete_.clear();
  }
  CloseQueueIfDone();
  done(absl::OkStatus());
}

void Barrier::CloseQueueIfDone() {
  bool cancel;
  {
    MutexLock lock(mu_);
    if (!closed_ || queue_closed_ || !incomplete_.empty()) return;
    queue_closed_ = true;
    cancel = cancel_pending_;
  }
  ready_->Close(cancel, nullptr, [](absl::Status) {});
}

}  // namespace weir
