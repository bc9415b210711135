// weir.TransportService: links with other tasks, in front of a worker.
#pragma once

#include <vector>

#include "distribute/transport/grpc_server.h"
#include "distribute/transport/shared_memory/link_poller.h"
#include "distribute/transport/worker_interface.h"
#include "weir/transport.pb.h"

namespace weir {

// Thread-safe. Outlives the server that has its methods; the worker and the poller outlive it.
class TransportService {
 public:
  TransportService(WorkerInterface* worker, LinkPoller* poller) : worker_(worker), poller_(poller) {}

  std::vector<ServerMethod> Methods();

 private:
  absl::Status OpenRings(const OpenRingsRequest& request, OpenRingsResponse* response);

  WorkerInterface* const worker_;
  LinkPoller* const poller_;
};

}  // namespace weir
