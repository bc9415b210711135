#include "distribute/transport/frames/call_requests.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "core/clock.h"
#include "distribute/transport/frames/frame_limits.h"
#include "distribute/transport/frames/frame_status.h"
#include "distribute/transport/tensor_codec.h"

namespace weir {
namespace {

// Longer answers are decoded on a thread that reads no frames.
constexpr size_t kLongAnswer = 256 << 10;
// Bytes of an answer plus the overhead of its parts; enough for the largest message in the smallest parts that Weir
// sends.
constexpr size_t kMaxPartBytes = kMaxMessageBytes + kMaxMessageBytes / 16;

std::string Encoded(const LinkMethod& method, absl::Time deadline, const grpc::ByteBuffer& request) {
  CallHead head{.method = method.id};
  if (deadline != absl::InfiniteFuture()) {
    head.timeout_micros = std::max(int64_t{0}, absl::ToInt64Microseconds(deadline - MonotonicNow()));
  }
  std::string bytes;
  bytes.reserve(sizeof(head) + request.Length());
  bytes.append(reinterpret_cast<const char*>(&head), sizeof(head));
  std::vector<grpc::Slice> slices;
  if (request.Valid() && request.Dump(&slices).ok()) {
    for (const grpc::Slice& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

}  // namespace

bool CallRequests::Begin(const LinkMethod& method, const CallOptions& options, const grpc::ByteBuffer& request,
                         const Callback& done) {
  if (request.Valid() && request.Length() + sizeof(CallHead) > kMaxCallBytes) return false;
  return Ask(FrameKind::kCall,
             {.done = done, .method = method.path, .deadline = options.deadline, .cancellation = options.cancellation},
             [&] { return Encoded(method, options.deadline, request); });
}

void CallRequests::Finish(PendingCall pending, absl::StatusOr<grpc::ByteBuffer> result) {
  if (result.ok() && result->Length() < kLongAnswer) return pending.done(std::move(result));
  link_->RunElsewhere([done = std::move(pending.done), result = std::move(result)]() mutable { done(result); });
}

void CallRequests::Violated(absl::string_view what) {
  link_->Break(WithOrigin(errors::Unavailable("Task ", task_, " sent ", what), {.task = task_}));
}

void CallRequests::AddPart(uint32_t channel, grpc::Slice part) {
  if (part.size() == 0) return Violated("an empty part of an answer");
  bool is_too_long = false;
  {
    MutexLock lock(mu_);
    const auto it = pending_.find(channel);
    if (it == pending_.end()) return;  // cancelled already
    // The overhead of a part counts too: for tiny parts it exceeds their bytes.
    it->second.part_bytes += part.size() + sizeof(part);
    is_too_long = it->second.part_bytes > kMaxPartBytes;
    if (!is_too_long) it->second.parts.push_back(std::move(part));
  }
  if (is_too_long) Violated("an answer of more than 2 GiB");
}

void CallRequests::OnFrame(const FrameHead& head, ReceivedBytes bytes) {
  PendingCall pending;
  switch (head.kind) {
    case FrameKind::kPart:
      return AddPart(head.channel, link_->Keep(std::move(bytes)));
    case FrameKind::kAnswer: {
      if (!Take(head.channel, &pending)) return;  // cancelled already
      pending.parts.push_back(link_->Keep(std::move(bytes)));
      const grpc::ByteBuffer answer(pending.parts.data(), pending.parts.size());
      return End(std::move(pending), answer);
    }
    case FrameKind::kError:
      if (Take(head.channel, &pending)) End(std::move(pending), DecodeFrameStatus(bytes.bytes()));
      return;
    default:
      return Violated("a frame that is no answer");
  }
}

void CallRequests::OnTick(absl::Time now) {
  std::vector<uint32_t> late;
  {
    MutexLock lock(mu_);
    for (const auto& [channel, pending] : pending_) {
      if (pending.deadline <= now) late.push_back(channel);
    }
  }
  for (const uint32_t channel : late) {
    PendingCall pending;
    if (!Take(channel, &pending)) continue;
    SendCancel(channel);
    const absl::string_view path(pending.method);
    const absl::Status status = errors::DeadlineExceeded(path.substr(path.rfind('/') + 1), " to task ", task_,
                                                         " did not end within its deadline");
    End(std::move(pending), WithOrigin(status, {.task = task_}));
  }
}

}  // namespace weir
