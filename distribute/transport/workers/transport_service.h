// weir.TransportService: opens links with other tasks.
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

// Thread-safe. Outlives the server that has its methods, and the links; its constructor's arguments outlive it.
class TransportService {
 public:
  // `methods` are the worker's; links carry some of them. A null `poller` disables shared-memory links, a null
  // `streams` stream links.
  TransportService(WorkerInterface* worker, const std::vector<ServerMethod>& methods, LinkPoller* poller,
                   StreamLinks* streams = nullptr)
      : worker_(worker), poller_(poller), streams_(streams), handlers_(methods) {}

  std::vector<ServerMethod> Methods();
  std::vector<ServerStreamMethod> Streams();
  // Rejects calls through links from now on.
  void RejectCalls() { handlers_.Reject(); }
  // Waits until `deadline` for running calls.
  void AwaitCalls(absl::Time deadline) { handlers_.Await(deadline); }

 private:
  absl::Status OpenRings(const OpenRingsRequest& request, OpenRingsResponse* response);
  void OpenStream(std::shared_ptr<MessageStream> stream);
  // The receiver of frames from `task`.
  std::shared_ptr<FrameLink::Receiver> Answers(LinkUse use, const std::string& task,
                                               const std::shared_ptr<FrameLink>& link);

  WorkerInterface* const worker_;
  LinkPoller* const poller_;
  StreamLinks* const streams_;
  LinkHandlers handlers_;
};

}  // namespace weir
