// Serves tensorflow.WorkerService and weir.PeerService for a worker.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/memory/allocator.h"
#include "core/mutex.h"
#include "distribute/transport/grpc_server.h"
#include "distribute/transport/message_codec.h"
#include "distribute/transport/recent_request_ids.h"
#include "distribute/transport/worker_interface.h"

namespace weir {

class SharedMemorySender;

// Thread-safe. The worker outlives it; it outlives the server that has its methods. Malformed requests get
// InvalidArgument. A repeated RunGraph, RecvTensor or RecvBuf is Aborted.
class GrpcWorkerService {
 public:
  // With `shared_memory`, which outlives it, tensors are written into memory that receivers on this host offer.
  explicit GrpcWorkerService(WorkerInterface* worker, SharedMemorySender* shared_memory = nullptr,
                             Allocator* allocator = CpuAllocator());

  std::vector<ServerMethod> Methods();

 private:
  // Positions of a registered graph's rendezvous keys.
  struct GraphKeys {
    std::vector<std::string> feeds, fetches;
    absl::flat_hash_map<std::string, int> feed_index, fetch_index;
  };
  using GraphId = std::pair<std::string, std::string>;  // session and graph handle

  void RegisterGraph(ServerCall* call);
  void DeregisterGraph(ServerCall* call);
  void DeleteWorkerSession(ServerCall* call);
  void RunGraph(ServerCall* call);
  void RecvTensor(ServerCall* call);
  void RecvBuf(ServerCall* call);
  void CompleteGroup(ServerCall* call);
  grpc::ByteBuffer ResponseTo(const tensorflow::RecvBufRequest& request, ReceivedBytes bytes);
  absl::StatusOr<grpc::ByteBuffer> ResponseTo(const WireRecvTensor& request, const Rendezvous::Received& received);

  absl::StatusOr<std::shared_ptr<const GraphKeys>> KeysOf(const RunGraphArgs& args);
  absl::StatusOr<std::shared_ptr<RunGraphArgs>> ArgsOf(WireRunGraph* wire);

  WorkerInterface* const worker_;
  SharedMemorySender* const shared_memory_;
  Allocator* const allocator_;
  RecentRequestIds recent_ids_;
  Mutex mu_;
  absl::flat_hash_map<GraphId, std::shared_ptr<const GraphKeys>> graphs_ GUARDED_BY(mu_);
};

}  // namespace weir
