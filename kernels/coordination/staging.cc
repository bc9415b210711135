#include "kernels/coordination/staging.h"

#include <algorithm>

namespace weir {
namespace {

int64_t BytesOf(const std::vector<Tensor>& tensors) {
  int64_t bytes = 0;
  for (const Tensor& tensor : tensors) bytes += tensor.TotalBytes();
  return bytes;
}

absl::Status TooLarge(int64_t bytes, int64_t limit) {
  return errors::ResourceExhausted("Attempted to insert tensors with combined size of '", bytes,
                                   "' bytes into Staging Area with a memory limit of '", limit, "'.");
}

absl::Status OutOfBounds(int64_t key, int64_t index, size_t size) {
  return errors::InvalidArgument("Index '", static_cast<uint64_t>(index), "' for key '", key, "' was out of bounds '",
                                 size, "'.");
}

// Internal unless a node with outputs of these types can take the values.
absl::Status CheckOutputs(const std::vector<Tensor>& values, const StagingMap::Selection& selection) {
  for (size_t i = 0; i < selection.types.size(); ++i) {
    if (i >= values.size()) {
      return errors::Internal("Missing ", i, "-th output from {{node ", selection.node, "}}");
    }
    if (values[i].dtype() != selection.types[i]) {
      return errors::Internal("Output ", i, " of type ", DataTypeName(values[i].dtype()),
                              " does not match declared output type ", DataTypeName(selection.types[i]),
                              " for node {{node ", selection.node, "}}");
    }
  }
  if (values.size() == selection.types.size()) return absl::OkStatus();
  return errors::Internal(values.size(), " components for the ", selection.types.size(), " outputs of {{node ",
                          selection.node, "}}");
}

}  // namespace

// --- StagingArea ---

void StagingArea::Put(CancellationManager* cancellation, Tuple tuple, RequestLine::DoneCallback done) {
  const int64_t bytes = BytesOf(tuple);
  if (limits_.memory_limit > 0 && bytes > limits_.memory_limit) return done(TooLarge(bytes, limits_.memory_limit));
  auto shared = std::make_shared<Tuple>(std::move(tuple));
  const auto attempt = [self = shared_from_this(), shared, bytes](absl::Status*) {
    const StagingLimits& limits = self->limits_;
    if (limits.capacity > 0 && static_cast<int64_t>(self->tuples_.size()) >= limits.capacity) return false;
    if (limits.memory_limit > 0 && self->bytes_ + bytes > limits.memory_limit) return false;
    self->tuples_.push_back(std::move(*shared));
    self->bytes_ += bytes;
    return true;
  };
  line_->Submit(cancellation, "Stage operation", attempt, std::move(done));
}

void StagingArea::Take(CancellationManager* cancellation, TakeCallback done) {
  auto taken = std::make_shared<Tuple>();
  const auto attempt = [self = shared_from_this(), taken](absl::Status*) {
    if (self->tuples_.empty()) return false;
    *taken = std::move(self->tuples_.front());
    self->tuples_.pop_front();
    self->bytes_ -= BytesOf(*taken);
    return true;
  };
  line_->Submit(cancellation, "Unstage operation", attempt, [taken, done = std::move(done)](absl::Status status) {
    if (!status.ok()) return done(std::move(status));
    done(std::move(*taken));
  });
}

void StagingArea::Peek(CancellationManager* cancellation, int64_t index, TakeCallback done) {
  auto seen = std::make_shared<Tuple>();
  const auto attempt = [self = shared_from_this(), seen, index](absl::Status*) {
    if (index >= static_cast<int64_t>(self->tuples_.size())) return false;
    *seen = self->tuples_[index];
    return true;
  };
  line_->Submit(cancellation, "StagePeek operation", attempt, [seen, done = std::move(done)](absl::Status status) {
    if (!status.ok()) return done(std::move(status));
    done(std::move(*seen));
  });
}

int64_t StagingArea::size() const {
  MutexLock lock(line_->mutex());
  return static_cast<int64_t>(tuples_.size());
}

void StagingArea::Clear() {
  std::deque<Tuple> removed;  // freed without the lock
  {
    MutexLock lock(line_->mutex());
    removed.swap(tuples_);
    bytes_ = 0;
  }
  line_->Advance();
}

// --- StagingMap ---

absl::Status StagingMap::CheckPut(int64_t key, const Tuple* present, const std::vector<int64_t>& indices) const {
  for (const int64_t index : indices) {
    if (index < 0 || index >= static_cast<int64_t>(types_.size())) return OutOfBounds(key, index, types_.size());
    if (present != nullptr && (*present)[index].has_value()) {
      return errors::InvalidArgument("The tensor for index '", index, "' for key '", key, "' was already initialized '",
                                     types_.size(), "'.");
    }
  }
  return absl::OkStatus();
}

bool StagingMap::TryPut(int64_t key, const std::vector<int64_t>& indices, std::vector<Tensor>& values,
                        absl::Status* status) {
  const int64_t bytes = BytesOf(values);
  if (limits_.memory_limit > 0 && bytes > limits_.memory_limit) {
    *status = TooLarge(bytes, limits_.memory_limit);
    return true;
  }
  if (limits_.memory_limit > 0 && bytes_ + bytes > limits_.memory_limit) return false;
  if (indices.size() == types_.size()) {
    if (limits_.capacity > 0 && static_cast<int64_t>(complete_.size()) >= limits_.capacity) return false;
    if (complete_.try_emplace(key, values.begin(), values.end()).second) bytes_ += bytes;
    return true;
  }
  auto found = incomplete_.find(key);
  *status = CheckPut(key, found == incomplete_.end() ? nullptr : &found->second, indices);
  if (!status->ok()) return true;
  if (found == incomplete_.end()) found = incomplete_.emplace(key, Tuple(types_.size())).first;
  Tuple& tuple = found->second;
  for (size_t i = 0; i < indices.size(); ++i) tuple[indices[i]] = std::move(values[i]);
  bytes_ += bytes;
  if (!std::all_of(tuple.begin(), tuple.end(), [](const auto& component) { return component.has_value(); }))
    return true;
  if (complete_.count(key) > 0) {
    for (const auto& component : tuple) bytes_ -= component->TotalBytes();
  } else {
    complete_.emplace(key, std::move(tuple));
  }
  incomplete_.erase(found);
  return true;
}

void StagingMap::Put(CancellationManager* cancellation, int64_t key, std::vector<int64_t> indices,
                     std::vector<Tensor> values, RequestLine::DoneCallback done) {
  auto shared = std::make_shared<std::vector<Tensor>>(std::move(values));
  const auto attempt = [self = shared_from_this(), key, indices = std::move(indices), shared](absl::Status* status) {
    return self->TryPut(key, indices, *shared, status);
  };
  line_->Submit(cancellation, "MapStage operation", attempt, std::move(done));
}

absl::StatusOr<std::vector<Tensor>> StagingMap::Components(std::map<int64_t, Tuple>::iterator entry,
                                                           const Selection& selection, bool remove) {
  Tuple& tuple = entry->second;
  std::vector<Tensor> values;
  for (const int64_t index : selection.indices) {
    if (index < 0 || index >= static_cast<int64_t>(tuple.size())) return OutOfBounds(entry->first, index, tuple.size());
    if (!tuple[index].has_value()) {
      return errors::InvalidArgument("Tensor at index '", index, "' for key '", entry->first,
                                     "' has already been removed.");
    }
    values.push_back(*tuple[index]);
  }
  RETURN_IF_ERROR(CheckOutputs(values, selection));
  if (!remove) return values;
  for (const int64_t index : selection.indices) tuple[index].reset();
  bytes_ -= BytesOf(values);
  if (std::none_of(tuple.begin(), tuple.end(), [](const auto& component) { return component.has_value(); })) {
    complete_.erase(entry);
  }
  return values;
}

void StagingMap::Take(CancellationManager* cancellation, std::optional<int64_t> key, Selection selection,
                      TakeCallback done) {
  auto taken = std::make_shared<Entry>();
  const auto attempt = [self = shared_from_this(), key, selection = std::move(selection), taken](absl::Status* status) {
    auto entry = key.has_value() ? self->complete_.find(*key) : self->complete_.begin();
    if (entry == self->complete_.end()) return false;
    taken->key = entry->first;
    absl::StatusOr<std::vector<Tensor>> values = self->Components(entry, selection, /*remove=*/true);
    if (values.ok()) {
      taken->values = *std::move(values);
    } else {
      *status = values.status();
    }
    return true;
  };
  line_->Submit(cancellation, "MapUnstage operation", attempt, [taken, done = std::move(done)](absl::Status status) {
    if (!status.ok()) return done(std::move(status));
    done(std::move(*taken));
  });
}

void StagingMap::Peek(CancellationManager* cancellation, int64_t key, Selection selection, TakeCallback done) {
  auto seen = std::make_shared<Entry>();
  const auto attempt = [self = shared_from_this(), key, selection = std::move(selection), seen](absl::Status* status) {
    auto entry = self->complete_.find(key);
    if (entry == self->complete_.end()) return false;
    absl::StatusOr<std::vector<Tensor>> values = self->Components(entry, selection, /*remove=*/false);
    if (values.ok()) {
      seen->values = *std::move(values);
    } else {
      *status = values.status();
    }
    return true;
  };
  line_->Submit(cancellation, "MapPeek operation", attempt, [seen, done = std::move(done)](absl::Status status) {
    if (!status.ok()) return done(std::move(status));
    done(std::move(*seen));
  });
}

int64_t StagingMap::size() const {
  MutexLock lock(line_->mutex());
  return static_cast<int64_t>(complete_.size());
}

int64_t StagingMap::incomplete_size() const {
  MutexLock lock(line_->mutex());
  return static_cast<int64_t>(incomplete_.size());
}

void StagingMap::Clear() {
  std::map<int64_t, Tuple> complete, incomplete;  // freed without the lock
  {
    MutexLock lock(line_->mutex());
    complete.swap(complete_);
    incomplete.swap(incomplete_);
    bytes_ = 0;
  }
  line_->Advance();
}

}  // namespace weir
