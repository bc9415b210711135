// weir.TransportService: links with other tasks, in front of a worker.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "distribute/transport/frames/frame_link.h"
#include "distribute/transport/frames/link_handlers.h"
#include "distribute/transport/grpc_server.h"
#include "distribute/transport/shared_memory/link_poller.h"
#include "distribute/transport/stream/stream_links.h"
#include "distribute/transport/worker_interface.h"
#include "weir/transport.pb.h"

namespace weir {

// Thread-safe. Outlives the server that has its methods, and the links; what it is given outlives it.
class TransportService {
 public:
  // Of `methods`, those of WorkerService, links carry some. No `poller`: there are none through shared memory; no
  // `streams`: none through streams.
  TransportService(WorkerInterface* worker, const std::vector<ServerMethod>& methods, LinkPoller* poller,
                   StreamLinks* streams = nullptr)
      : worker_(worker), poller_(poller), streams_(streams), handlers_(methods) {}

  std::vector<ServerMethod> Methods();
  std::vector<ServerStreamMethod> Streams();
  // Calls through links are refused from now on.
  void RefuseCalls() { handlers_.Refuse(); }
  // Gives those under way until `deadline`.
  void AwaitCalls(absl::Time deadline) { handlers_.Await(deadline); }

 private:
  absl::Status OpenRings(const OpenRingsRequest& request, OpenRingsResponse* response);
  void OpenStream(std::shared_ptr<MessageStream> stream);
  // What receives from a task that asks through the link.
  std::shared_ptr<FrameLink::Receiver> Answers(LinkUse use, const std::string& task,
                                               const std::shared_ptr<FrameLink>& link);

  WorkerInterface* const worker_;
  LinkPoller* const poller_;
  StreamLinks* const streams_;
  LinkHandlers handlers_;
};

}  // namespace weir
