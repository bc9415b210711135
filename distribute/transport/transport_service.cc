#include "distribute/transport/transport_service.h"

#include <memory>
#include <utility>

#include "distribute/transport/frames/buffer_answers.h"
#include "distribute/transport/frames/call_answers.h"
#include "distribute/transport/message_method.h"
#include "distribute/transport/shared_memory/ring_link.h"

namespace weir {
namespace {

constexpr size_t kMaxTaskName = 1024;

}  // namespace

std::vector<ServerMethod> TransportService::Methods() {
  return {
      {"/weir.TransportService/OpenRings",
       [this](ServerCall* call) {
         ServeMessage<OpenRingsRequest, OpenRingsResponse>(call, [this](const CallOptions&, auto messages, auto done) {
           done(OpenRings(messages->request, &messages->response));
         });
       }},
      {"/weir.TransportService/ListLinks", [this](ServerCall* call) {
         ServeMessage<ListLinksRequest, ListLinksResponse>(call, [this](const CallOptions&, auto messages, auto done) {
           poller_->Describe(&messages->response);
           done(absl::OkStatus());
         });
       }}};
}

absl::Status TransportService::OpenRings(const OpenRingsRequest& request, OpenRingsResponse* response) {
  if (request.task().size() > kMaxTaskName) return errors::InvalidArgument("OpenRings: a task's name is too long");
  const LinkUse use = request.use();
  if (!LinkUse_IsValid(use)) return errors::Unimplemented("OpenRings: links of use ", static_cast<int>(use));
  ASSIGN_OR_RETURN(std::unique_ptr<Doorbell> peer, Doorbell::Open(request.doorbell()));
  ASSIGN_OR_RETURN(std::unique_ptr<SharedSegment> rings, RingLink::OpenRings(use, request.rings()));
  auto link = std::make_shared<RingLink>(RingLink::Options{.use = use,
                                                           .rings = std::move(rings),
                                                           .peer = std::move(peer),
                                                           .poller = poller_,
                                                           .is_maker = false,
                                                           .peer_name = request.task()});
  *response->mutable_doorbell() = poller_->doorbell();
  if (use == LinkUse::CALLS) return link->Start(std::make_shared<CallAnswers>(&handlers_, request.task(), link));
  return link->Start(std::make_shared<BufferAnswers>(worker_, request.task(), link));
}

}  // namespace weir
