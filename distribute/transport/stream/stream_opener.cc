#include "distribute/transport/stream/stream_opener.h"

#include <memory>
#include <utility>

#include "distribute/transport/stream/stream_link.h"
#include "distribute/transport/wire_format.h"

namespace weir {
namespace {

constexpr char kOpenStream[] = "/weir.TransportService/OpenStream";

}  // namespace

void StreamOpener::Open(LinkUse use, const MakeReceiver& make, const Done& done) {
  const std::string& task = channel_->options().task;
  OpenStreamRequest request;
  request.set_task(channel_->options().local_task);
  request.set_use(use);
  request.set_window_bytes(StreamLink::kWindowBytes);
  absl::StatusOr<grpc::ByteBuffer> greeting = MessageToBuffer(request);
  if (!greeting.ok()) return done(greeting.status());
  StreamLink::Options options{.stream = channel_->OpenStream(kOpenStream),
                              .links = links_,
                              .peer_name = task,
                              .greeting = *std::move(greeting),
                              .is_asker = true};
  options.greet = [use, task, make](const std::shared_ptr<FrameLink>& link,
                                    const grpc::ByteBuffer& message) -> absl::StatusOr<StreamLink::Peer> {
    OpenStreamResponse response;
    RETURN_IF_ERROR(MessageFromBuffer(message, &response));
    return StreamLink::Peer{.task = task, .use = use, .window_bytes = response.window_bytes(), .receiver = make(link)};
  };
  // Keeps the link alive until it is open; the link then releases it.
  auto opening = std::make_shared<std::shared_ptr<StreamLink>>();
  options.opened = [opening, done](const absl::Status& status) {
    const std::shared_ptr<StreamLink> link = std::move(*opening);
    status.ok() ? done(std::shared_ptr<FrameLink>(link)) : done(status);
  };
  const auto link = std::make_shared<StreamLink>(std::move(options));
  *opening = link;
  link->Start();
}

}  // namespace weir
