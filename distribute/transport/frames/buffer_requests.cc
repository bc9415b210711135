#include "distribute/transport/frames/buffer_requests.h"

#include <utility>

#include "distribute/transport/frames/frame_limits.h"
#include "distribute/transport/frames/frame_status.h"

namespace weir {
namespace {

std::string Encoded(const RecvBufArgs& args) {
  tensorflow::RecvBufRequest request;
  request.set_step_id(args.step_id);
  request.set_buf_rendezvous_key(args.key);
  request.set_num_bytes(args.num_bytes);
  request.set_src_device(args.src_device);
  request.set_dst_device(args.dst_device);
  request.set_src_incarnation(args.src_incarnation);
  return request.SerializeAsString();
}

absl::Status Cancelled(const CancellationManager& manager) {
  const absl::Status reason = manager.status();
  return absl::CancelledError(reason.ok() ? "The call was cancelled" : reason.message());
}

}  // namespace

BufferRequests::BufferRequests(std::string task, std::shared_ptr<FrameLink> link)
    : task_(std::move(task)), link_(std::move(link)) {}

bool BufferRequests::is_open() const {
  MutexLock lock(mu_);
  return is_open_;
}

bool BufferRequests::Begin(const CallOptions& options, const RecvBufArgs& args, const Callback& done) {
  if (args.num_bytes < 0 || static_cast<uint64_t>(args.num_bytes) > link_->max_frame_bytes()) return false;
  std::string request = Encoded(args);
  if (request.size() > kMaxRequestBytes) return false;
  const uint32_t channel = next_channel_.fetch_add(1, std::memory_order_relaxed);
  Pending pending{.num_bytes = args.num_bytes, .done = done, .cancellation = options.cancellation};
  if (pending.cancellation != nullptr) {
    // Runs as long as the request is pending, so that the manager is there.
    pending.token = pending.cancellation->Register([weak = weak_from_this(), channel] {
      if (auto self = weak.lock()) self->Cancel(channel);
    });
  }
  bool is_cancelled = false, has_room = false;
  {
    MutexLock lock(mu_);
    // One that has begun before this has found nothing to cancel.
    is_cancelled = pending.cancellation != nullptr && pending.cancellation->IsCancelled();
    has_room = is_open_ && pending_.size() < kMaxChannels && !pending_.contains(channel);
    if (!is_cancelled && has_room) pending_.emplace(channel, std::exchange(pending, {}));
  }
  if (is_cancelled) {
    End(std::move(pending), Cancelled(*options.cancellation));
    return true;
  }
  if (!has_room) {
    if (pending.cancellation != nullptr) pending.cancellation->TryDeregister(pending.token);
    return false;
  }
  link_->Send({FrameKind::kRequest, channel}, OwnedBytes(std::move(request)));
  // Who ended it meanwhile may have been before the request in the ring, where a cancellation says nothing yet.
  if (!IsPending(channel)) link_->Send({FrameKind::kCancel, channel}, ReceivedBytes({}, nullptr));
  return true;
}

bool BufferRequests::IsPending(uint32_t channel) const {
  MutexLock lock(mu_);
  return pending_.contains(channel);
}

bool BufferRequests::Take(uint32_t channel, Pending* pending) {
  MutexLock lock(mu_);
  const auto it = pending_.find(channel);
  if (it == pending_.end()) return false;
  *pending = std::move(it->second);
  pending_.erase(it);
  return true;
}

void BufferRequests::End(Pending pending, absl::StatusOr<ReceivedBytes> result) {
  if (pending.cancellation != nullptr) pending.cancellation->TryDeregister(pending.token);
  pending.done(std::move(result));
}

void BufferRequests::Cancel(uint32_t channel) {
  Pending pending;
  if (!Take(channel, &pending)) return;
  link_->Send({FrameKind::kCancel, channel}, ReceivedBytes({}, nullptr));
  const absl::Status status = Cancelled(*pending.cancellation);
  End(std::move(pending), status);
}

void BufferRequests::OnFrame(const FrameHead& head, ReceivedBytes bytes) {
  Pending pending;
  if (head.kind != FrameKind::kBuffer && head.kind != FrameKind::kError) {
    return link_->Break(WithOrigin(errors::Unavailable("Task ", task_, " sent a frame of kind ",
                                                       static_cast<uint32_t>(head.kind), " where answers are expected"),
                                   {.task = task_}));
  }
  if (!Take(head.channel, &pending)) return;  // cancelled meanwhile
  if (head.kind == FrameKind::kError) return End(std::move(pending), DecodeFrameStatus(bytes.bytes()));
  if (bytes.bytes().size() != pending.num_bytes) {
    const absl::Status status = errors::Internal("Task ", task_, " sent ", bytes.bytes().size(), " bytes where ",
                                                 pending.num_bytes, " were expected");
    return End(std::move(pending), status);
  }
  End(std::move(pending), std::move(bytes));
}

void BufferRequests::OnBroken(const absl::Status& status) {
  absl::flat_hash_map<uint32_t, Pending> pending;
  {
    MutexLock lock(mu_);
    is_open_ = false;
    pending.swap(pending_);
  }
  for (auto& [channel, one] : pending) End(std::move(one), status);
}

}  // namespace weir
