#include "distribute/transport/workers/transport_service.h"

#include <memory>
#include <utility>

#include "distribute/transport/frames/buffer_answers.h"
#include "distribute/transport/frames/call_answers.h"
#include "distribute/transport/message_method.h"
#include "distribute/transport/shared_memory/ring_link.h"
#include "distribute/transport/stream/stream_link.h"
#include "distribute/transport/wire_format.h"

namespace weir {
namespace {

constexpr size_t kMaxTaskName = 1024;

absl::Status CheckRequest(LinkUse use, const std::string& task) {
  if (task.size() > kMaxTaskName) return errors::InvalidArgument("A link was asked for: the task's name is too long");
  if (!LinkUse_IsValid(use)) return errors::Unimplemented("Links of use ", static_cast<int>(use));
  return absl::OkStatus();
}

}  // namespace

std::vector<ServerMethod> TransportService::Methods() {
  std::vector<ServerMethod> methods;
  if (poller_ != nullptr) {
    methods.push_back({"/weir.TransportService/OpenRings", [this](ServerCall* call) {
                         ServeMessage<OpenRingsRequest, OpenRingsResponse>(
                             call, [this](const CallOptions&, auto messages, auto done) {
                               done(OpenRings(messages->request, &messages->response));
                             });
                       }});
  }
  methods.push_back({"/weir.TransportService/ListLinks", [this](ServerCall* call) {
                       ServeMessage<ListLinksRequest, ListLinksResponse>(
                           call, [this](const CallOptions&, auto messages, auto done) {
                             if (poller_ != nullptr) poller_->Describe(&messages->response);
                             if (streams_ != nullptr) streams_->Describe(&messages->response);
                             done(absl::OkStatus());
                           });
                     }});
  return methods;
}

std::vector<ServerStreamMethod> TransportService::Streams() {
  if (streams_ == nullptr) return {};
  return {{"/weir.TransportService/OpenStream",
           [this](std::shared_ptr<MessageStream> stream) { OpenStream(std::move(stream)); }}};
}

std::shared_ptr<FrameLink::Receiver> TransportService::Answers(LinkUse use, const std::string& task,
                                                               const std::shared_ptr<FrameLink>& link) {
  if (use == LinkUse::CALLS) return std::make_shared<CallAnswers>(&handlers_, task, link);
  return std::make_shared<BufferAnswers>(worker_, task, link);
}

absl::Status TransportService::OpenRings(const OpenRingsRequest& request, OpenRingsResponse* response) {
  RETURN_IF_ERROR(CheckRequest(request.use(), request.task()));
  ASSIGN_OR_RETURN(std::unique_ptr<Doorbell> peer, Doorbell::Open(request.doorbell()));
  ASSIGN_OR_RETURN(std::unique_ptr<SharedSegment> rings, RingLink::OpenRings(request.use(), request.rings()));
  auto link = std::make_shared<RingLink>(RingLink::Options{.use = request.use(),
                                                           .rings = std::move(rings),
                                                           .peer = std::move(peer),
                                                           .poller = poller_,
                                                           .is_maker = false,
                                                           .peer_name = request.task()});
  *response->mutable_doorbell() = poller_->doorbell();
  return link->Start(Answers(request.use(), request.task(), link));
}

void TransportService::OpenStream(std::shared_ptr<MessageStream> stream) {
  StreamLink::Options options{.stream = std::move(stream), .links = streams_, .peer_name = "(unnamed)"};
  options.greet = [this](const std::shared_ptr<FrameLink>& link,
                         const grpc::ByteBuffer& message) -> absl::StatusOr<StreamLink::Peer> {
    OpenStreamRequest request;
    RETURN_IF_ERROR(MessageFromBuffer(message, &request));
    RETURN_IF_ERROR(CheckRequest(request.use(), request.task()));
    OpenStreamResponse response;
    response.set_window_bytes(StreamLink::kWindowBytes);
    ASSIGN_OR_RETURN(grpc::ByteBuffer reply, MessageToBuffer(response));
    return StreamLink::Peer{.task = request.task(),
                            .use = request.use(),
                            .window_bytes = request.window_bytes(),
                            .receiver = Answers(request.use(), request.task(), link),
                            .reply = std::move(reply)};
  };
  std::make_shared<StreamLink>(std::move(options))->Start();
}

}  // namespace weir
