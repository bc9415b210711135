// Serves tensorflow.MasterService for a master.
#pragma once

#include <vector>

#include "core/memory/allocator.h"
#include "distribute/transport/clients/client_leases.h"
#include "distribute/transport/grpc_server.h"
#include "distribute/transport/master_interface.h"
#include "distribute/transport/repeated_requests.h"

namespace weir {

// Thread-safe. The master outlives it; it outlives the server that has its methods.
// - A step runs on the thread that received the request.
// - Malformed requests get InvalidArgument. A repeated RunStep, PartialRunSetup, MakeCallable or RunCallable gets the
//   answer of the first.
// - `leases` gets to know the clients of each session; null: sessions stay until they are closed.
class GrpcMasterService {
 public:
  // `leases` and `log` outlive the service; either may be null.
  explicit GrpcMasterService(MasterInterface* master, ClientLeases* leases = nullptr, RequestLog* log = nullptr,
                             Allocator* allocator = CpuAllocator());

  std::vector<ServerMethod> Methods();

 private:
  void RunStep(ServerCall* call);
  void RunCallable(ServerCall* call);

  MasterInterface* const master_;
  ClientLeases* const leases_;
  Allocator* const allocator_;
  RepeatedRequests requests_;
};

}  // namespace weir
