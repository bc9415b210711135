// weir.TransportService: links with other tasks, in front of a worker.
#pragma once

#include <vector>

#include "absl/time/time.h"
#include "distribute/transport/frames/link_handlers.h"
#include "distribute/transport/grpc_server.h"
#include "distribute/transport/shared_memory/link_poller.h"
#include "distribute/transport/worker_interface.h"
#include "weir/transport.pb.h"

namespace weir {

// Thread-safe. Outlives the server that has its methods, and the links; the worker and the poller outlive it.
class TransportService {
 public:
  // Of `methods`, those of WorkerService, links carry some.
  TransportService(WorkerInterface* worker, const std::vector<ServerMethod>& methods, LinkPoller* poller)
      : worker_(worker), poller_(poller), handlers_(methods) {}

  std::vector<ServerMethod> Methods();
  // Calls through links are refused from now on.
  void RefuseCalls() { handlers_.Refuse(); }
  // Gives those under way until `deadline`.
  void AwaitCalls(absl::Time deadline) { handlers_.Await(deadline); }

 private:
  absl::Status OpenRings(const OpenRingsRequest& request, OpenRingsResponse* response);

  WorkerInterface* const worker_;
  LinkPoller* const poller_;
  LinkHandlers handlers_;
};

}  // namespace weir
