#include "client/data/input_stream.h"

#include <limits>

#include "client/ops.h"

namespace weir {

InputStream::InputStream(const Scope& scope, const TensorSpecs& element, int64_t capacity, const std::string& name)
    : element_(element) {
  const Scope inner = scope.SubScope(name).WithNoControlDependencies();
  const Output queue =
      ops::FIFOQueueV2(inner.WithName("queue"), element.types, {.capacity = capacity, .shared_name = inner.name()});
  for (size_t i = 0; i < element.types.size(); ++i) {
    fed_.push_back(ops::Placeholder(inner.WithName("element"), element.types[i], {.shape = element.shapes[i]}));
  }
  enqueue_ = ops::QueueEnqueueV2(inner, queue, InputList(fed_.begin(), fed_.end()));
  close_ = ops::QueueCloseV2(inner.WithName("close"), queue);
  close_now_ = ops::QueueCloseV2(inner.WithName("close_now"), queue, {.cancel_pending_enqueues = true});
  // A queue that is closed and empty is OUT_OF_RANGE, and with that a map ends.
  dataset_ = Dataset::Range(inner, std::numeric_limits<int64_t>::max()).Map([&](const Scope& s, const OutputList&) {
    OutputList taken = ops::QueueDequeueV2(s, queue, element.types);
    for (size_t i = 0; i < taken.size(); ++i) taken[i] = ops::EnsureShape(s, taken[i], element.shapes[i]);
    return taken;
  });
}

absl::Status InputStream::Push(Session& session, const std::vector<Tensor>& element) const {
  if (element.size() != fed_.size()) {
    return errors::InvalidArgument("An element of ", element.size(), " tensors for a stream of ", fed_.size());
  }
  FeedList feeds;
  for (size_t i = 0; i < element.size(); ++i) {
    if (element[i].dtype() != element_.types[i] || !element_.shapes[i].IsCompatibleWith(element[i].shape())) {
      return errors::InvalidArgument("Component ", i, " of an element is ", DataTypeName(element[i].dtype()),
                                     element[i].shape().ToString(), "; the stream's is ",
                                     DataTypeName(element_.types[i]), element_.shapes[i].ToString());
    }
    feeds.emplace_back(fed_[i], element[i]);
  }
  return session.Run(feeds, {}, {enqueue_}).status();
}

absl::Status InputStream::Close(Session& session) const { return session.RunTargets({close_}); }
absl::Status InputStream::CloseNow(Session& session) const { return session.RunTargets({close_now_}); }

GeneratorFeed::GeneratorFeed(Session* session, const InputStream* stream, ElementGenerator generator)
    : session_(session), stream_(stream), generator_(std::move(generator)), thread_([this] { status_ = Feed(); }) {}

GeneratorFeed::~GeneratorFeed() { Stop().IgnoreError(); }

bool GeneratorFeed::stopping() const {
  MutexLock lock(mu_);
  return stopping_;
}

absl::Status GeneratorFeed::Feed() {
  while (!stopping()) {
    std::vector<Tensor> element;
    absl::StatusOr<bool> more = generator_(&element);
    if (more.ok() && *more) {
      absl::Status pushed = stream_->Push(*session_, element);
      if (!pushed.ok()) return stopping() ? absl::OkStatus() : pushed;
      continue;
    }
    const absl::Status closed = stream_->Close(*session_);
    return more.ok() ? closed : more.status();
  }
  return absl::OkStatus();
}

absl::Status GeneratorFeed::Stop() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
  }
  if (!thread_.joinable()) return status_;
  const absl::Status closed = stream_->CloseNow(*session_);
  thread_.join();
  return status_.ok() && !absl::IsCancelled(closed) ? closed : status_;
}

absl::Status GeneratorFeed::Await() {
  if (thread_.joinable()) thread_.join();
  return status_;
}

}  // namespace weir
