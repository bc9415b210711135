#include "distribute/transport/shared_memory/ring_opener.h"

#include <utility>

#include "absl/time/clock.h"
#include "core/clock.h"
#include "distribute/transport/shared_memory/ring_link.h"
#include "distribute/transport/wire_format.h"

namespace weir {
namespace {

constexpr char kOpenRings[] = "/weir.TransportService/OpenRings";
constexpr absl::Duration kTimeout = absl::Seconds(5);

// The request to the other task.
struct Asked {
  LinkUse use;
  std::string task;
  LinkPoller* poller;
  std::shared_ptr<SharedSegment> rings;
  LinkOpener::MakeReceiver make;

  absl::StatusOr<std::shared_ptr<FrameLink>> Open(const absl::StatusOr<grpc::ByteBuffer>& reply) const {
    RETURN_IF_ERROR(reply.status());
    OpenRingsResponse response;
    RETURN_IF_ERROR(MessageFromBuffer(*reply, &response));
    ASSIGN_OR_RETURN(std::unique_ptr<Doorbell> peer, Doorbell::Open(response.doorbell()));
    auto link = std::make_shared<RingLink>(RingLink::Options{
        .use = use, .rings = rings, .peer = std::move(peer), .poller = poller, .is_maker = true, .peer_name = task});
    RETURN_IF_ERROR(link->Start(make(link)));
    return link;
  }
};

}  // namespace

void RingOpener::Open(LinkUse use, const MakeReceiver& make, const Done& done) {
  absl::StatusOr<std::unique_ptr<SharedSegment>> rings = RingLink::MakeRings(use);
  if (!rings.ok()) return done(rings.status());
  OpenRingsRequest request;
  request.set_task(channel_->options().local_task);
  request.set_use(use);
  *request.mutable_rings() = (*rings)->name();
  *request.mutable_doorbell() = poller_->doorbell();
  const absl::StatusOr<grpc::ByteBuffer> buffer = MessageToBuffer(request);
  if (!buffer.ok()) return done(buffer.status());
  const Asked asked{use, channel_->options().task, poller_, *std::move(rings), make};
  const CallOptions options{.deadline = MonotonicNow() + kTimeout, .cancellation = poller_->cancellation()};
  channel_->CallAsync(kOpenRings, options, *buffer, [asked, done](const absl::StatusOr<grpc::ByteBuffer>& reply) {
    const absl::StatusOr<std::shared_ptr<FrameLink>> link = asked.Open(reply);
    // A late answer leaves a link at the other end that would otherwise last as long as this process.
    if (!link.ok()) RingLink::Abandon(*asked.rings);
    done(link);
  });
}

}  // namespace weir
