#include "client/data/input_stream.h"

#include <limits>

#include "absl/time/clock.h"
#include "client/ops.h"
#include "core/clock.h"

namespace weir {
namespace {

constexpr absl::Duration kPauseBetweenCloses = absl::Milliseconds(100);

}  // namespace

InputStream::InputStream(const Scope& scope, const TensorSpecs& element, int64_t capacity, const std::string& name)
    : element_(element) {
  const Scope inner = scope.SubScope(name).WithNoControlDependencies();
  DataTypeVector types = element.types;
  types.push_back(DT_STRING);
  const Output queue =
      ops::FIFOQueueV2(inner.WithName("queue"), types, {.capacity = capacity, .shared_name = inner.name()});
  for (const DataType type : types) fed_.push_back(ops::Placeholder(inner.WithName("element"), type));
  enqueue_ = ops::QueueEnqueueV2(inner, queue, InputList(fed_.begin(), fed_.end()));
  close_ = ops::QueueCloseV2(inner.WithName("close"), queue);
  close_now_ = ops::QueueCloseV2(inner.WithName("close_now"), queue, {.cancel_pending_enqueues = true});
  // A closed, empty queue returns OUT_OF_RANGE, which ends the map.
  dataset_ = Dataset::Range(inner, std::numeric_limits<int64_t>::max()).Map([&](const Scope& s, const OutputList&) {
    OutputList taken = ops::QueueDequeueV2(s, queue, types);
    const Output failure = taken.back();
    taken.pop_back();
    const Output sound = ops::Equal(s, failure, Tensor::Scalar<tstring>(""));
    const Scope checked = s.WithControlDependencies({ops::Assert(s, sound, {failure})});
    for (size_t i = 0; i < taken.size(); ++i) {
      taken[i] = ops::EnsureShape(checked, taken[i], element.shapes[i]);
    }
    return taken;
  });
}

absl::Status InputStream::Push(Session& session, const std::vector<Tensor>& element) const {
  if (element.size() != element_.types.size()) {
    return errors::InvalidArgument("An element of ", element.size(), " tensors for a stream of ",
                                   element_.types.size());
  }
  for (size_t i = 0; i < element.size(); ++i) {
    if (element[i].dtype() != element_.types[i] || !element_.shapes[i].IsCompatibleWith(element[i].shape())) {
      return errors::InvalidArgument("Component ", i, " of an element is ", DataTypeName(element[i].dtype()),
                                     element[i].shape().ToString(), "; the stream's is ",
                                     DataTypeName(element_.types[i]), element_.shapes[i].ToString());
    }
  }
  return Enqueue(session, element, "");
}

absl::Status InputStream::Fail(Session& session, const absl::Status& error) const {
  std::vector<Tensor> nothing;
  for (const DataType type : element_.types) nothing.emplace_back(type, TensorShape({0}));
  RETURN_IF_ERROR(Enqueue(session, nothing, error.ToString()));
  return Close(session);
}

absl::Status InputStream::Enqueue(Session& session, const std::vector<Tensor>& element,
                                  const std::string& failure) const {
  FeedList feeds;
  for (size_t i = 0; i < element.size(); ++i) feeds.emplace_back(fed_[i], element[i]);
  feeds.emplace_back(fed_.back(), Tensor::Scalar<tstring>(failure));
  return session.Run(feeds, {}, {enqueue_}).status();
}

absl::Status InputStream::Close(Session& session) const { return session.RunTargets({close_}); }
absl::Status InputStream::CloseNow(Session& session) const { return session.RunTargets({close_now_}); }

GeneratorFeed::GeneratorFeed(Session* session, const InputStream* stream, ElementGenerator generator)
    : session_(session), stream_(stream), generator_(std::move(generator)), thread_([this] {
        status_ = Feed();
        MutexLock lock(mu_);
        has_ended_ = true;
        ended_.notify_all();
      }) {}

GeneratorFeed::~GeneratorFeed() { Stop().IgnoreError(); }

bool GeneratorFeed::stopping() const {
  MutexLock lock(mu_);
  return stopping_;
}

bool GeneratorFeed::HasEnded(absl::Duration patience) {
  const auto deadline = ToSteady(MonotonicNow() + patience);
  MutexLock lock(mu_);
  while (!has_ended_) {
    if (lock.WaitUntil(ended_, deadline) == std::cv_status::timeout) break;
  }
  return has_ended_;
}

absl::Status GeneratorFeed::Feed() {
  while (!stopping()) {
    std::vector<Tensor> element;
    const absl::StatusOr<bool> more = generator_(&element);
    if (more.ok() && !*more) return stream_->Close(*session_);
    const absl::Status status = more.ok() ? stream_->Push(*session_, element) : more.status();
    if (status.ok()) continue;
    if (more.ok() && stopping()) return absl::OkStatus();
    // Without the stream, only callers that wait for this thread learn of the error.
    stream_->Fail(*session_, status).IgnoreError();
    return status;
  }
  return absl::OkStatus();
}

absl::Status GeneratorFeed::Stop() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
  }
  if (!thread_.joinable()) return status_;
  // A waiting push returns when the stream is closed, or when its session fails.
  absl::Status closed = stream_->CloseNow(*session_);
  while (!closed.ok() && !HasEnded(kPauseBetweenCloses)) closed = stream_->CloseNow(*session_);
  thread_.join();
  return status_.ok() && !absl::IsCancelled(closed) ? closed : status_;
}

absl::Status GeneratorFeed::Await() {
  if (thread_.joinable()) thread_.join();
  return status_;
}

}  // namespace weir
