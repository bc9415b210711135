#include "kernels/coordination/queue.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "core/random_bits.h"
#include "kernels/containers/tensor_sequence.h"

namespace weir {

std::string ShapeListName(absl::Span<const PartialTensorShape> shapes) {
  return absl::StrCat(
      "[", absl::StrJoin(shapes, ", ", [](std::string* out, const PartialTensorShape& s) { *out += s.ToString(); }),
      "]");
}

namespace {

Philox ShufflingStream(const Queue::Options& options) {
  uint64_t seed = options.seed, seed2 = options.seed2;
  if (seed == 0 && seed2 == 0) {
    seed = RandomBits();
    seed2 = RandomBits();
  }
  return Philox(seed, seed2);
}

}  // namespace

Queue::Queue(Options options) : options_(std::move(options)), random_(ShufflingStream(options_)) {}

std::string Queue::DebugString() const {
  return absl::StrCat(options_.kind, " '", options_.name, "' of ", DataTypeListName(options_.types), ", ", size(),
                      " elements");
}

absl::Status Queue::CheckMatches(const Options& other, absl::string_view op) const {
  const auto differs = [this](const auto&... args) {
    return errors::InvalidArgument("Shared queue '", options_.name, "' has ", args...);
  };
  if (other.kind != options_.kind) {
    return errors::InvalidArgument("Shared queue '", options_.name, "': Expected ", options_.kind, ", found ", op);
  }
  if (other.capacity != options_.capacity) {
    return differs("capacity ", options_.capacity, " but requested capacity was ", other.capacity);
  }
  if (other.min_after_dequeue != options_.min_after_dequeue) {
    return differs("min_after_dequeue ", options_.min_after_dequeue, " but requested min_after_dequeue was ",
                   other.min_after_dequeue, ".");
  }
  const bool any_seed = other.seed == 0 && other.seed2 == 0;
  if (!any_seed && (other.seed != options_.seed || other.seed2 != options_.seed2)) {
    return differs("random seeds (", options_.seed, ", ", options_.seed2, ") but requested seeds are (", other.seed,
                   ", ", other.seed2, ").");
  }
  if (other.types != options_.types) {
    return differs("component types ", DataTypeListName(options_.types), " but requested component types were ",
                   DataTypeListName(other.types));
  }
  if (other.shapes != options_.shapes) {
    return differs("component shapes ", ShapeListName(options_.shapes), " but requested component shapes were ",
                   ShapeListName(other.shapes));
  }
  return absl::OkStatus();
}

absl::Status Queue::CheckTuple(const Tuple& tuple, bool many) const {
  if (tuple.size() != options_.types.size()) {
    return errors::InvalidArgument("Wrong number of components in tuple. Expected ", options_.types.size(), ", got ",
                                   tuple.size());
  }
  for (size_t i = 0; i < tuple.size(); ++i) {
    const TensorShape& shape = tuple[i].shape();
    if (tuple[i].dtype() != options_.types[i]) {
      return errors::InvalidArgument("Type mismatch in tuple component ", i, ". Expected ",
                                     DataTypeName(options_.types[i]), ", got ", DataTypeName(tuple[i].dtype()));
    }
    if (many && shape.dims() < 1) {
      return errors::InvalidArgument("All input tensors must have the same size in the 0th dimension. Component ", i,
                                     " has no dimensions");
    }
    if (options_.shapes.empty()) {
      if (!many || shape.dim_size(0) == tuple[0].dim_size(0)) continue;
      return errors::InvalidArgument("All input tensors must have the same size in the 0th dimension. Component ", i,
                                     " has ", shape.dim_size(0), ", and should have ", tuple[0].dim_size(0));
    }
    PartialTensorShape expected = options_.shapes[i];
    if (many && !expected.unknown_rank()) {
      DimVector dims(expected.dim_sizes().begin(), expected.dim_sizes().end());
      dims.insert(dims.begin(), tuple[0].dim_size(0));
      ASSIGN_OR_RETURN(expected, PartialTensorShape::Build(dims));
    }
    if (!expected.IsCompatibleWith(shape) || (many && shape.dim_size(0) != tuple[0].dim_size(0))) {
      return errors::InvalidArgument("Shape mismatch in tuple component ", i, ". Expected ", expected.ToString(),
                                     ", got ", shape.ToString());
    }
  }
  if (options_.order == Order::kPriority && tuple[0].dims() != (many ? 1 : 0)) {
    return errors::InvalidArgument("Expected the priority element to be a ", many ? "vector" : "scalar",
                                   ", but received shape: ", tuple[0].shape().ToString());
  }
  return absl::OkStatus();
}

absl::StatusOr<Queue::Tuple> Queue::Stack(const OpKernelContext& ctx, const std::vector<Tuple>& tuples) const {
  Tuple result;
  for (size_t i = 0; i < options_.types.size(); ++i) {
    Tuple elements;
    for (const Tuple& tuple : tuples) elements.push_back(tuple[i]);
    DimVector dims(options_.shapes[i].dim_sizes().begin(), options_.shapes[i].dim_sizes().end());
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d] >= 0) continue;
      dims[d] = 0;
      for (const Tensor& element : elements) dims[d] = std::max(dims[d], element.dim_size(static_cast<int>(d)));
    }
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Build(dims));
    const bool padding =
        std::any_of(elements.begin(), elements.end(), [&](const Tensor& e) { return e.shape() != shape; });
    ASSIGN_OR_RETURN(Tensor stacked, padding ? PadAndStackTensors(ctx, options_.types[i], elements, shape)
                                             : StackTensors(ctx, HostSequences(), options_.types[i], elements, shape));
    result.push_back(std::move(stacked));
  }
  return result;
}

void Queue::Enqueue(std::vector<Tuple> tuples, CancellationManager* cancellation, DoneCallback done) {
  Request request;
  request.cancellation = cancellation;
  request.tuples.assign(std::make_move_iterator(tuples.begin()), std::make_move_iterator(tuples.end()));
  request.done = std::move(done);
  Add(enqueues_, std::move(request), "Enqueue");
}

void Queue::Dequeue(int64_t count, bool up_to, CancellationManager* cancellation, DequeueCallback done) {
  Request request;
  request.cancellation = cancellation;
  request.count = count;
  request.up_to = up_to;
  request.dequeued = std::move(done);
  Add(dequeues_, std::move(request), "Dequeue");
}

void Queue::Close(bool cancel_pending_enqueues, CancellationManager* cancellation, DoneCallback done) {
  if (!cancel_pending_enqueues) {
    Request request;
    request.cancellation = cancellation;
    request.close = true;
    request.done = std::move(done);
    return Add(enqueues_, std::move(request), "Close");
  }
  Finished finished;
  {
    MutexLock lock(mu_);
    closed_ = true;
    for (Request& request : enqueues_) Finish(request, errors::Cancelled("Enqueue operation was cancelled"), &finished);
    enqueues_.clear();
    Advance(&finished);
  }
  for (auto& callback : finished) callback();
  done(absl::OkStatus());
}

// The callback of a cancellation may run at any time from its registration on, so the request is in its place first.
void Queue::Add(std::deque<Request>& requests, Request request, const char* what) {
  Finished finished;
  {
    MutexLock lock(mu_);
    const bool enqueue = &requests == &enqueues_;
    request.id = next_id_++;
    bool cancelled = false;
    if (request.cancellation != nullptr) {
      request.token = request.cancellation->Register(
          [queue = weak_from_this(), enqueue, id = request.id, cancellation = request.cancellation] {
            if (auto alive = queue.lock()) alive->Cancel(enqueue, id, cancellation);
          });
      cancelled = request.token == CancellationManager::kInvalidToken;
    }
    if (cancelled) {
      Finish(request, errors::Cancelled(what, " operation was cancelled"), &finished);
    } else {
      requests.push_back(std::move(request));
      Advance(&finished);
    }
  }
  for (auto& callback : finished) callback();
}

void Queue::Cancel(bool enqueue, int64_t id, CancellationManager* cancellation) {
  Finished finished;
  {
    MutexLock lock(mu_);
    std::deque<Request>& requests = enqueue ? enqueues_ : dequeues_;
    auto found = std::find_if(requests.begin(), requests.end(), [id](const Request& r) { return r.id == id; });
    if (found == requests.end()) return;
    if (!enqueue) Return(*found);
    found->token = CancellationManager::kInvalidToken;
    Finish(*found, errors::Cancelled(enqueue ? "Enqueue" : "Dequeue", " operation was cancelled"), &finished);
    requests.erase(found);
    Advance(&finished);
  }
  for (auto& callback : finished) callback();
}

int64_t Queue::size() const {
  MutexLock lock(mu_);
  return Count();
}

bool Queue::is_closed() const {
  MutexLock lock(mu_);
  return closed_;
}

// Serves the first request of each direction for as long as one of them gets on.
void Queue::Advance(Finished* finished) {
  for (bool progress = true; progress;) {
    progress = false;
    while (!enqueues_.empty() && AdvanceEnqueue(enqueues_.front(), finished)) {
      enqueues_.pop_front();
      progress = true;
    }
    const int64_t before = Count();
    while (!dequeues_.empty() && AdvanceDequeue(dequeues_.front(), finished)) {
      dequeues_.pop_front();
      progress = true;
    }
    progress |= Count() < before;
  }
}

// Whether the request is finished.
bool Queue::AdvanceEnqueue(Request& request, Finished* finished) {
  if (closed_) {
    Finish(request,
           request.close ? errors::Cancelled("Queue '", options_.name, "' is already closed.")
                         : errors::Cancelled(options_.kind, " '", options_.name, "' is closed."),
           finished);
    return true;
  }
  if (request.close) {
    closed_ = true;
  } else {
    while (!request.tuples.empty() && (options_.capacity < 0 || Count() < options_.capacity)) {
      Put(std::move(request.tuples.front()));
      request.tuples.pop_front();
    }
    if (!request.tuples.empty()) return false;
  }
  Finish(request, absl::OkStatus(), finished);
  return true;
}

bool Queue::AdvanceDequeue(Request& request, Finished* finished) {
  const int64_t keep = closed_ ? 0 : options_.min_after_dequeue;
  while (static_cast<int64_t>(request.tuples.size()) < request.count && Count() > keep) {
    request.tuples.push_back(TakeOne());
  }
  const int64_t taken = static_cast<int64_t>(request.tuples.size());
  if (taken < request.count) {
    if (!closed_) return false;
    if (!request.up_to || taken == 0) {
      Return(request);
      Finish(request,
             errors::OutOfRange(options_.kind, " '", options_.name,
                                "' is closed and has insufficient elements (requested ", request.count,
                                ", current size ", Count(), ")"),
             finished);
      return true;
    }
  }
  Finish(request, absl::OkStatus(), finished);
  return true;
}

int64_t Queue::Count() const { return static_cast<int64_t>(elements_.size() + by_priority_.size()); }

void Queue::Put(Tuple tuple) {
  if (options_.order == Order::kPriority) {
    const int64_t priority = tuple[0].scalar<int64_t>();
    by_priority_.emplace(priority, std::move(tuple));
  } else {
    elements_.push_back(std::move(tuple));
  }
}

Queue::Tuple Queue::TakeOne() {
  Tuple tuple;
  switch (options_.order) {
    case Order::kPriority:
      tuple = std::move(by_priority_.begin()->second);
      by_priority_.erase(by_priority_.begin());
      break;
    case Order::kShuffled:
      std::swap(elements_[random_.Next() % elements_.size()], elements_.back());
      tuple = std::move(elements_.back());
      elements_.pop_back();
      break;
    case Order::kFirstInFirstOut:
      tuple = std::move(elements_.front());
      elements_.pop_front();
      break;
  }
  return tuple;
}

// Puts back what a request has taken that will not be served.
void Queue::Return(Request& request) {
  for (; !request.tuples.empty(); request.tuples.pop_back()) {
    Tuple& tuple = request.tuples.back();
    if (options_.order == Order::kPriority) {
      const int64_t priority = tuple[0].scalar<int64_t>();
      by_priority_.emplace_hint(by_priority_.lower_bound(priority), priority, std::move(tuple));
    } else if (options_.order == Order::kShuffled) {
      elements_.push_back(std::move(tuple));
    } else {
      elements_.push_front(std::move(tuple));
    }
  }
}

void Queue::Finish(Request& request, absl::Status status, Finished* finished) {
  finished->push_back([request = std::make_shared<Request>(std::move(request)), status = std::move(status)] {
    // Not waiting: the callback finds no request of that id and does nothing.
    if (request->token != CancellationManager::kInvalidToken) request->cancellation->TryDeregister(request->token);
    if (request->done) return request->done(status);
    if (!status.ok()) return request->dequeued(status);
    request->dequeued(std::vector<Tuple>(std::make_move_iterator(request->tuples.begin()),
                                         std::make_move_iterator(request->tuples.end())));
  });
}

}  // namespace weir
