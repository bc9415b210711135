#include "distribute/transport/frames/ring_connection.h"

#include <utility>

#include "core/logging.h"
#include "distribute/transport/shared_memory/receiving_arena.h"
#include "distribute/transport/shared_memory/ring_link.h"
#include "distribute/transport/wire_format.h"
#include "weir/transport.pb.h"

namespace weir {
namespace {

constexpr char kOpenRings[] = "/weir.TransportService/OpenRings";
constexpr absl::Duration kTimeout = absl::Seconds(5);
constexpr absl::Duration kPause = absl::Seconds(1);

// After these the task may answer otherwise another time.
bool MayChange(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) || absl::IsCancelled(status) ||
         absl::IsResourceExhausted(status) || absl::IsAlreadyExists(status);
}

const char* WhatGoes(LinkUse use) {
  return use == LinkUse::CALLS ? "steps' calls and small tensors" : "buffers of collectives";
}

}  // namespace

template <typename Requests>
struct RingConnection<Requests>::Asked {
  std::unique_ptr<SharedSegment> rings;
  std::shared_ptr<RingLink> link;
  std::shared_ptr<Requests> requests;
};

template <typename Requests>
RingConnection<Requests>::RingConnection(GrpcChannel* channel, LinkPoller* poller)
    : channel_(channel),
      poller_(poller),
      state_(poller != nullptr && channel->options().shared_memory && IsOnThisHost(channel->options().address)
                 ? State::kIdle
                 : State::kRefused) {}

template <typename Requests>
RingConnection<Requests>::~RingConnection() {
  std::shared_ptr<FrameLink> link;
  {
    MutexLock lock(mu_);
    link = std::move(link_);
  }
  if (link != nullptr) link->Break(errors::Unavailable("The task is shutting down"));
}

template <typename Requests>
std::shared_ptr<Requests> RingConnection<Requests>::Current() {
  {
    MutexLock lock(mu_);
    if (state_ == State::kOpen) {
      if (requests_->is_open()) return requests_;
      state_ = State::kIdle;
      requests_ = nullptr;
      link_ = nullptr;
      not_before_ = absl::Now() + kPause;
    }
    if (state_ != State::kIdle || absl::Now() < not_before_) return nullptr;
    state_ = State::kAsking;
  }
  Ask();
  return nullptr;
}

template <typename Requests>
void RingConnection<Requests>::Ask() {
  absl::StatusOr<std::unique_ptr<SharedSegment>> rings = RingLink::MakeRings(Requests::kUse);
  if (!rings.ok()) return Answered(rings.status(), nullptr, nullptr);
  OpenRingsRequest request;
  request.set_task(channel_->options().local_task);
  request.set_use(Requests::kUse);
  *request.mutable_rings() = (*rings)->name();
  *request.mutable_doorbell() = poller_->doorbell();
  const absl::StatusOr<grpc::ByteBuffer> buffer = MessageToBuffer(request);
  if (!buffer.ok()) return Answered(buffer.status(), nullptr, nullptr);
  auto asked = std::make_shared<Asked>(Asked{.rings = *std::move(rings)});
  const CallOptions options{.deadline = absl::Now() + kTimeout, .cancellation = poller_->cancellation()};
  channel_->CallAsync(kOpenRings, options, *buffer, [this, asked](const absl::StatusOr<grpc::ByteBuffer>& reply) {
    const absl::Status status = Open(*asked, reply);
    // An answer that came too late has left a link at the other end, which would wait there for as long as this
    // process.
    if (asked->rings != nullptr) RingLink::Abandon(*asked->rings);
    Answered(status, asked->link, asked->requests);
  });
}

template <typename Requests>
absl::Status RingConnection<Requests>::Open(Asked& asked, const absl::StatusOr<grpc::ByteBuffer>& reply) {
  RETURN_IF_ERROR(reply.status());
  OpenRingsResponse response;
  RETURN_IF_ERROR(MessageFromBuffer(*reply, &response));
  ASSIGN_OR_RETURN(std::unique_ptr<Doorbell> peer, Doorbell::Open(response.doorbell()));
  const std::string& task = channel_->options().task;
  asked.link = std::make_shared<RingLink>(RingLink::Options{.use = Requests::kUse,
                                                            .rings = std::move(asked.rings),
                                                            .peer = std::move(peer),
                                                            .poller = poller_,
                                                            .is_maker = true,
                                                            .peer_name = task});
  asked.requests = std::make_shared<Requests>(task, asked.link);
  return asked.link->Start(asked.requests);
}

template <typename Requests>
void RingConnection<Requests>::Answered(const absl::Status& status, std::shared_ptr<FrameLink> link,
                                        std::shared_ptr<Requests> requests) {
  const std::string& task = channel_->options().task;
  const bool is_refused = !status.ok() && !MayChange(status);
  {
    MutexLock lock(mu_);
    if (status.ok()) {
      state_ = State::kOpen;
      link_ = std::move(link);
      requests_ = std::move(requests);
    } else {
      state_ = is_refused ? State::kRefused : State::kIdle;
      not_before_ = absl::Now() + kPause;
    }
  }
  if (status.ok()) {
    WEIR_LOG(INFO).With("task", task) << WhatGoes(Requests::kUse) << " go through shared memory";
  } else if (is_refused) {
    WEIR_LOG(INFO).With("task", task).With("reason", status.ToString()) << WhatGoes(Requests::kUse) << " go over gRPC";
  }
}

template class RingConnection<BufferRequests>;
template class RingConnection<CallRequests>;

}  // namespace weir
