// A remote task's worker, over gRPC, links and shared memory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/mutex.h"
#include "distribute/transport/frames/link_connection.h"
#include "distribute/transport/grpc_channel.h"
#include "distribute/transport/recent_request_ids.h"
#include "distribute/transport/shared_memory/receiving_arena.h"
#include "distribute/transport/worker_interface.h"

namespace weir {

// Calls a worker in another process. Thread-safe.
// - Steps' calls and buffers of collectives go through a link (shared memory or stream) if there is one, large tensors
//   through shared memory on the same host, everything else over gRPC.
// - `done` is short and runs on a polling thread of the channel's queue or on a thread that polls links.
// - Calls without a deadline get the channel's default, except RunGraph, RecvTensor, RecvBuf and Tracing, which last as
//   long as their step, and JoinGroup and CompleteInstance, which wait for other tasks.
// - No call is pending when it is destroyed.
class RemoteWorker : public WorkerInterface {
 public:
  RemoteWorker(GrpcChannelOptions options, grpc::CompletionQueue* queue);

  void GetStatusAsync(const CallOptions& options, const tensorflow::GetStatusRequest* request,
                      tensorflow::GetStatusResponse* response, DoneCallback done) override;
  void GetCapabilitiesAsync(const CallOptions& options, const GetCapabilitiesRequest* request,
                            GetCapabilitiesResponse* response, DoneCallback done) override;
  void ResolveStepAsync(const CallOptions& options, const ResolveStepRequest* request, ResolveStepResponse* response,
                        DoneCallback done) override;
  void FenceStepsAsync(const CallOptions& options, const FenceStepsRequest* request, FenceStepsResponse* response,
                       DoneCallback done) override;
  void GetStepWaitsAsync(const CallOptions& options, const GetStepWaitsRequest* request, GetStepWaitsResponse* response,
                         DoneCallback done) override;
  void CreateWorkerSessionAsync(const CallOptions& options, const tensorflow::CreateWorkerSessionRequest* request,
                                tensorflow::CreateWorkerSessionResponse* response, DoneCallback done) override;
  void DeleteWorkerSessionAsync(const CallOptions& options, const tensorflow::DeleteWorkerSessionRequest* request,
                                tensorflow::DeleteWorkerSessionResponse* response, DoneCallback done) override;
  void RegisterGraphAsync(const CallOptions& options, std::shared_ptr<const RegisterGraphArgs> args,
                          ResultCallback<std::string> done) override;
  void DeregisterGraphAsync(const CallOptions& options, const tensorflow::DeregisterGraphRequest* request,
                            tensorflow::DeregisterGraphResponse* response, DoneCallback done) override;
  void RunGraphAsync(const CallOptions& options, std::shared_ptr<const RunGraphArgs> args,
                     ResultCallback<RunGraphResult> done) override;
  void CleanupGraphAsync(const CallOptions& options, const tensorflow::CleanupGraphRequest* request,
                         tensorflow::CleanupGraphResponse* response, DoneCallback done) override;
  void CleanupAllAsync(const CallOptions& options, const tensorflow::CleanupAllRequest* request,
                       tensorflow::CleanupAllResponse* response, DoneCallback done) override;
  void RecvTensorAsync(const CallOptions& options, int64_t step_id, absl::string_view key,
                       ResultCallback<Rendezvous::Received> done) override;
  void RecvBufAsync(const CallOptions& options, std::shared_ptr<const RecvBufArgs> args,
                    ResultCallback<ReceivedBytes> done) override;
  void JoinGroupAsync(const CallOptions& options, const JoinGroupRequest* request, JoinGroupResponse* response,
                      DoneCallback done) override;
  void CompleteInstanceAsync(const CallOptions& options, const tensorflow::CompleteInstanceRequest* request,
                             tensorflow::CompleteInstanceResponse* response, DoneCallback done) override;
  void GetStepSequenceAsync(const CallOptions& options, const tensorflow::GetStepSequenceRequest* request,
                            tensorflow::GetStepSequenceResponse* response, DoneCallback done) override;
  void LoggingAsync(const CallOptions& options, const tensorflow::LoggingRequest* request,
                    tensorflow::LoggingResponse* response, DoneCallback done) override;
  void TracingAsync(const CallOptions& options, const tensorflow::TracingRequest* request,
                    tensorflow::TracingResponse* response, DoneCallback done) override;

 private:
  // Maps RunGraph's positions to keys.
  struct GraphKeys {
    std::vector<std::string> feeds, fetches;
  };
  using GraphId = std::pair<std::string, std::string>;  // session and graph handle

  // With the route that the answer took.
  using AnswerCallback = std::function<void(const char* route, const absl::StatusOr<grpc::ByteBuffer>& answer)>;

  // Through the link if there is one, else over gRPC.
  void CallAsync(const LinkMethod& method, const CallOptions& options, const grpc::ByteBuffer& request,
                 const AnswerCallback& done);
  void CallMessage(const char* method, const CallOptions& options, const google::protobuf::MessageLite& request,
                   google::protobuf::MessageLite* response, DoneCallback done);
  absl::StatusOr<std::shared_ptr<const GraphKeys>> KeysOf(const std::string& session, const std::string& graph);
  // Acknowledges an answer to a sender that keeps its answers.
  void Acknowledge(int64_t request_id);
  absl::StatusOr<ReceivedBytes> ReceiveBuffer(const grpc::ByteBuffer& reply, int64_t request_id,
                                              const std::shared_ptr<ReceivingArena>& arena);
  // The tensor that a reply to the offer of `arena` names; nullopt: the tensor is not there.
  absl::StatusOr<std::optional<Tensor>> TakeShared(const std::string& transport_options,
                                                   const std::shared_ptr<ReceivingArena>& arena);
  // The result of a RecvTensor that offered `arena` (or nothing); `route` is as in CallOptions.
  absl::StatusOr<Rendezvous::Received> Receive(const grpc::ByteBuffer& reply, int64_t request_id,
                                               const std::shared_ptr<ReceivingArena>& arena, const char** route);

  GrpcChannel channel_;
  SharedMemoryReceiver shared_memory_;
  const std::vector<std::unique_ptr<LinkOpener>> openers_;
  LinkConnection<BufferRequests> buffers_;
  LinkConnection<CallRequests> calls_;
  RequestIdSource request_ids_;
  Mutex mu_;
  absl::flat_hash_map<GraphId, std::shared_ptr<const GraphKeys>> graphs_ GUARDED_BY(mu_);
};

}  // namespace weir
