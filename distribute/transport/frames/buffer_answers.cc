#include "distribute/transport/frames/buffer_answers.h"

#include <utility>

#include "distribute/transport/frames/frame_limits.h"
#include "distribute/transport/frames/frame_status.h"

namespace weir {

BufferAnswers::BufferAnswers(WorkerInterface* worker, std::string task, std::shared_ptr<FrameLink> link)
    : worker_(worker), task_(std::move(task)), link_(std::move(link)) {}

void BufferAnswers::Violated(absl::string_view what) {
  link_->Break(errors::Unavailable("The link from ", task_.empty() ? "a peer" : task_, " was closed: it sent ", what));
}

void BufferAnswers::OnFrame(const FrameHead& head, ReceivedBytes bytes) {
  switch (head.kind) {
    case FrameKind::kRequest: {
      if (bytes.bytes().size() > kMaxRequestBytes) return Violated("a request that is too long");
      const std::string copy(bytes.bytes().data(), bytes.bytes().size());  // which the peer cannot change
      { const ReceivedBytes let_go = std::move(bytes); }
      return Serve(head.channel, copy);
    }
    case FrameKind::kCancel:
      return Cancel(head.channel);
    default:
      return Violated("a frame that is no request");
  }
}

void BufferAnswers::Serve(uint32_t channel, const std::string& bytes) {
  tensorflow::RecvBufRequest wire;
  if (!wire.ParseFromString(bytes)) return Violated("a malformed request");
  auto request = std::make_shared<Request>();
  bool is_taken = false, is_full = false;
  {
    MutexLock lock(mu_);
    if (!is_open_) return;
    is_full = requests_.size() >= 2 * kMaxChannels;  // cancelled ones may not have ended yet
    is_taken = !is_full && !requests_.try_emplace(channel, request).second;
  }
  if (is_full) return Violated("too many requests");
  if (is_taken) return Violated("two requests under one channel");
  auto args = std::make_shared<RecvBufArgs>();
  args->step_id = wire.step_id();
  args->key = wire.buf_rendezvous_key();
  args->num_bytes = wire.num_bytes();
  args->src_device = wire.src_device();
  args->dst_device = wire.dst_device();
  args->src_incarnation = wire.src_incarnation();
  worker_->RecvBufAsync({.cancellation = &request->cancellation}, std::move(args),
                        [self = shared_from_this(), request, channel](absl::StatusOr<ReceivedBytes> result) {
                          self->Answer(channel, std::move(result));
                        });
}

void BufferAnswers::Answer(uint32_t channel, absl::StatusOr<ReceivedBytes> result) {
  std::shared_ptr<Request> request;  // may be the last reference
  {
    MutexLock lock(mu_);
    const auto it = requests_.find(channel);
    if (it == requests_.end()) return;  // the link is broken
    request = std::move(it->second);
    requests_.erase(it);
  }
  if (request->cancellation.IsCancelled()) return;  // the caller has cancelled
  if (result.ok() && result->bytes().size() > link_->max_frame_bytes()) {
    result = errors::Internal("A buffer of ", result->bytes().size(), " bytes is too large for this link");
  }
  if (!result.ok()) {
    return link_->Send({FrameKind::kError, channel}, OwnedBytes(EncodeFrameStatus(result.status())));
  }
  link_->Send({FrameKind::kBuffer, channel}, *std::move(result));
}

void BufferAnswers::Cancel(uint32_t channel) {
  std::shared_ptr<Request> request;
  {
    MutexLock lock(mu_);
    const auto it = requests_.find(channel);
    if (it == requests_.end()) return;  // answered already
    request = it->second;
  }
  request->cancellation.StartCancel(absl::CancelledError("The caller cancelled"));
}

void BufferAnswers::OnBroken(const absl::Status& status) {
  absl::flat_hash_map<uint32_t, std::shared_ptr<Request>> requests;
  {
    MutexLock lock(mu_);
    is_open_ = false;
    requests.swap(requests_);
  }
  for (const auto& [channel, request] : requests) request->cancellation.StartCancel(status);
}

}  // namespace weir
