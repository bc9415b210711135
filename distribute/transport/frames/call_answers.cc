#include "distribute/transport/frames/call_answers.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/threads/cancellation.h"
#include "distribute/transport/frames/frame_limits.h"
#include "distribute/transport/frames/frame_status.h"

namespace weir {
namespace {

// Answers up to this size are copied into one frame; each slice of a larger answer becomes a frame.
constexpr size_t kCopiedAnswer = 16 << 10;

absl::Time DeadlineOf(const CallHead& head) {
  if (head.timeout_micros == CallHead::kNoTimeout) return absl::InfiniteFuture();
  return MonotonicNow() + absl::Microseconds(std::max(int64_t{0}, head.timeout_micros));
}

}  // namespace

// Keeps itself alive until it is finished.
class CallAnswers::Call final : public ServerCall {
 public:
  Call(std::shared_ptr<CallAnswers> answers, uint32_t channel, absl::Time deadline, grpc::Slice request)
      : answers_(std::move(answers)), channel_(channel), deadline_(deadline), request_(&request, 1) {}
  ~Call() override = default;

  // `self` is this call. The handler may be null.
  void Start(std::shared_ptr<Call> self, const LinkHandlers::Handler* handler) {
    self_ = std::move(self);
    has_entered_ = answers_->handlers_->Enter();
    if (!has_entered_) return Fail(errors::Unavailable("The server is shutting down"));
    if (handler == nullptr) return Fail(errors::Unimplemented("This task does not serve that method through a link"));
    if (!handler->computes) return handler->handle(this);
    answers_->link_->RunElsewhere([this, handler] { handler->handle(this); });
  }

  const grpc::ByteBuffer& request() const override { return request_; }
  CallOptions options() override { return {.deadline = deadline_, .cancellation = &cancellation_}; }
  void Finish(const grpc::ByteBuffer& response) override {
    if (answers_->Take(channel_, this)) answers_->Answer(channel_, response);
    End();
  }
  void Fail(const absl::Status& status) override {
    if (answers_->Take(channel_, this)) {
      answers_->link_->Send({FrameKind::kError, channel_}, OwnedBytes(EncodeFrameStatus(status)));
    }
    End();
  }
  void RunLong(std::function<void()> work) override { answers_->link_->RunElsewhere(std::move(work)); }

  void Cancel(const absl::Status& status) { cancellation_.StartCancel(status); }
  bool is_cancelled() const { return cancellation_.IsCancelled(); }

 private:
  void End() {
    LinkHandlers* const handlers = has_entered_ ? answers_->handlers_ : nullptr;
    { const std::shared_ptr<Call> last = std::move(self_); }
    if (handlers != nullptr) handlers->Leave();
  }

  const std::shared_ptr<CallAnswers> answers_;
  const uint32_t channel_;
  const absl::Time deadline_;
  const grpc::ByteBuffer request_;
  CancellationManager cancellation_;
  bool has_entered_ = false;
  std::shared_ptr<Call> self_;
};

CallAnswers::CallAnswers(LinkHandlers* handlers, std::string task, std::shared_ptr<FrameLink> link)
    : handlers_(handlers), task_(std::move(task)), link_(std::move(link)) {}

void CallAnswers::Violated(absl::string_view what) {
  link_->Break(errors::Unavailable("The link from ", task_.empty() ? "a peer" : task_, " was closed: it sent ", what));
}

void CallAnswers::OnFrame(const FrameHead& head, ReceivedBytes bytes) {
  switch (head.kind) {
    case FrameKind::kCall:
      return Serve(head.channel, std::move(bytes));
    case FrameKind::kCancel:
      return Cancel(head.channel);
    default:
      return Violated("a frame that is no call");
  }
}

void CallAnswers::Serve(uint32_t channel, ReceivedBytes bytes) {
  const absl::Span<const char> shared = bytes.bytes();
  if (shared.size() > kMaxCallBytes) return Violated("a call that is too long");
  if (shared.size() < sizeof(CallHead)) return Violated("a call without a head");
  CallHead head;
  std::memcpy(&head, shared.data(), sizeof(head));
  // A copy, which the peer cannot change.
  grpc::Slice request(shared.data() + sizeof(head), shared.size() - sizeof(head));
  { const ReceivedBytes let_go = std::move(bytes); }
  const auto call = std::make_shared<Call>(shared_from_this(), channel, DeadlineOf(head), std::move(request));
  bool is_taken = false, is_full = false;
  {
    MutexLock lock(mu_);
    if (!is_open_) return;
    is_full = calls_.size() >= 2 * kMaxChannels;  // cancelled calls may not have ended yet
    is_taken = !is_full && !calls_.try_emplace(channel, call).second;
  }
  if (is_full) return Violated("too many calls");
  if (is_taken) return Violated("two calls under one channel");
  call->Start(call, handlers_->Find(head.method));
}

bool CallAnswers::Take(uint32_t channel, const Call* call) {
  std::shared_ptr<Call> taken;  // destroyed without the lock
  MutexLock lock(mu_);
  const auto it = calls_.find(channel);
  if (it == calls_.end() || it->second.get() != call) return false;  // the link is broken
  taken = std::move(it->second);
  calls_.erase(it);
  return !call->is_cancelled();
}

void CallAnswers::Answer(uint32_t channel, const grpc::ByteBuffer& response) {
  std::vector<grpc::Slice> slices;
  if (response.Valid() && response.Length() > 0) response.Dump(&slices);
  const size_t most = link_->max_frame_bytes();
  if (response.Length() <= std::min(kCopiedAnswer, most)) {
    std::string bytes;
    bytes.reserve(response.Length());
    for (const grpc::Slice& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    return link_->Send({FrameKind::kAnswer, channel}, OwnedBytes(std::move(bytes)));
  }
  for (grpc::Slice& slice : slices) {
    // A small slice stores its bytes inline, so the slice itself must not move.
    const auto held = std::make_shared<const grpc::Slice>(std::move(slice));
    for (size_t at = 0; at < held->size(); at += most) {
      const absl::Span<const char> piece(reinterpret_cast<const char*>(held->begin()) + at,
                                         std::min(most, held->size() - at));
      link_->Send({FrameKind::kPart, channel}, ReceivedBytes(piece, [held] {}));
    }
  }
  link_->Send({FrameKind::kAnswer, channel}, ReceivedBytes({}, nullptr));
}

void CallAnswers::Cancel(uint32_t channel) {
  std::shared_ptr<Call> call;
  {
    MutexLock lock(mu_);
    const auto it = calls_.find(channel);
    if (it == calls_.end()) return;  // answered already
    call = it->second;
  }
  // Cancelling runs the callbacks that the handler registered.
  link_->RunElsewhere([call] { call->Cancel(absl::CancelledError("The caller cancelled or disconnected")); });
}

void CallAnswers::OnBroken(const absl::Status& status) {
  absl::flat_hash_map<uint32_t, std::shared_ptr<Call>> calls;
  {
    MutexLock lock(mu_);
    is_open_ = false;
    calls.swap(calls_);
  }
  for (auto& [channel, call] : calls) {
    link_->RunElsewhere([call = std::move(call), status] { call->Cancel(status); });
  }
}

}  // namespace weir
