#include "distribute/transport/workers/remote_worker.h"

#include <google/protobuf/any.pb.h>

#include "distribute/transport/lost_graph.h"
#include "distribute/transport/message_codec.h"
#include "distribute/transport/recv_buf_codec.h"
#include "distribute/transport/shared_memory/ring_opener.h"
#include "distribute/transport/shared_memory/sending_arena.h"
#include "distribute/transport/stream/stream_opener.h"
#include "distribute/transport/wire_format.h"

namespace weir {
namespace {

using Key = absl::string_view;

constexpr int64_t kMinSharedBytes = SharedMemorySender::kMinBytes;

absl::Status CheckIndices(const std::vector<int>& indices, size_t size, absl::string_view what) {
  for (int i : indices) {
    if (i < 0 || i >= size) return errors::Internal("RunGraph: ", what, " ", i, " of a graph that has ", size);
  }
  return absl::OkStatus();
}

bool SharesMemory(const GrpcChannel& channel) {
  return channel.options().shared_memory && IsOnThisHost(channel.options().address);
}

// In order of preference.
std::vector<std::unique_ptr<LinkOpener>> OpenersFor(GrpcChannel* channel) {
  const GrpcChannelOptions& options = channel->options();
  std::vector<std::unique_ptr<LinkOpener>> openers;
  if (options.links != nullptr && SharesMemory(*channel)) {
    openers.push_back(std::make_unique<RingOpener>(channel, options.links));
  }
  if (options.streams != nullptr) openers.push_back(std::make_unique<StreamOpener>(channel, options.streams));
  return openers;
}

std::vector<LinkOpener*> Pointers(const std::vector<std::unique_ptr<LinkOpener>>& openers) {
  std::vector<LinkOpener*> pointers;
  for (const auto& opener : openers) pointers.push_back(opener.get());
  return pointers;
}

}  // namespace

RemoteWorker::RemoteWorker(GrpcChannelOptions options, grpc::CompletionQueue* queue)
    : channel_(std::move(options), queue),
      shared_memory_(SharesMemory(channel_)),
      openers_(OpenersFor(&channel_)),
      buffers_(channel_.options().task, Pointers(openers_)),
      calls_(channel_.options().task, Pointers(openers_)) {}

void RemoteWorker::CallAsync(const LinkMethod& method, const CallOptions& options, const grpc::ByteBuffer& request,
                             const AnswerCallback& done) {
  if (const auto link = calls_.Current(); link != nullptr) {
    const auto through_link = [done, route = link->route()](const absl::StatusOr<grpc::ByteBuffer>& r) {
      done(route, r);
    };
    if (link->Begin(method, options, request, through_link)) return;
  }
  channel_.CallAsync(method.path, options, request,
                     [done](const absl::StatusOr<grpc::ByteBuffer>& reply) { done("over gRPC", reply); });
}

void RemoteWorker::CallMessage(const char* method, const CallOptions& options,
                               const google::protobuf::MessageLite& request, google::protobuf::MessageLite* response,
                               DoneCallback done) {
  absl::StatusOr<grpc::ByteBuffer> buffer = MessageToBuffer(request);
  if (!buffer.ok()) return done(buffer.status());
  channel_.CallAsync(method, options, *buffer,
                     [response, done = std::move(done)](absl::StatusOr<grpc::ByteBuffer> reply) {
                       done(reply.ok() ? MessageFromBuffer(*reply, response) : reply.status());
                     });
}

void RemoteWorker::GetStatusAsync(const CallOptions& options, const tensorflow::GetStatusRequest* request,
                                  tensorflow::GetStatusResponse* response, DoneCallback done) {
  CallMessage("/tensorflow.WorkerService/GetStatus", channel_.Bounded(options), *request, response, std::move(done));
}

void RemoteWorker::GetCapabilitiesAsync(const CallOptions& options, const GetCapabilitiesRequest* request,
                                        GetCapabilitiesResponse* response, DoneCallback done) {
  CallMessage("/weir.PeerService/GetCapabilities", channel_.Bounded(options), *request, response, std::move(done));
}

void RemoteWorker::ResolveStepAsync(const CallOptions& options, const ResolveStepRequest* request,
                                    ResolveStepResponse* response, DoneCallback done) {
  CallMessage("/weir.PeerService/ResolveStep", channel_.Bounded(options), *request, response, std::move(done));
}

void RemoteWorker::FenceStepsAsync(const CallOptions& options, const FenceStepsRequest* request,
                                   FenceStepsResponse* response, DoneCallback done) {
  CallMessage("/weir.PeerService/FenceSteps", channel_.Bounded(options), *request, response, std::move(done));
}

void RemoteWorker::GetStepWaitsAsync(const CallOptions& options, const GetStepWaitsRequest* request,
                                     GetStepWaitsResponse* response, DoneCallback done) {
  CallMessage("/weir.PeerService/GetStepWaits", channel_.Bounded(options), *request, response, std::move(done));
}

void RemoteWorker::CreateWorkerSessionAsync(const CallOptions& options,
                                            const tensorflow::CreateWorkerSessionRequest* request,
                                            tensorflow::CreateWorkerSessionResponse* response, DoneCallback done) {
  CallMessage("/tensorflow.WorkerService/CreateWorkerSession", channel_.Bounded(options), *request, response,
              std::move(done));
}

void RemoteWorker::DeleteWorkerSessionAsync(const CallOptions& options,
                                            const tensorflow::DeleteWorkerSessionRequest* request,
                                            tensorflow::DeleteWorkerSessionResponse* response, DoneCallback done) {
  {
    MutexLock lock(mu_);
    for (auto it = graphs_.begin(); it != graphs_.end();) {
      if (it->first.first == request->session_handle()) {
        graphs_.erase(it++);
      } else {
        ++it;
      }
    }
  }
  CallMessage("/tensorflow.WorkerService/DeleteWorkerSession", channel_.Bounded(options), *request, response,
              std::move(done));
}

void RemoteWorker::RegisterGraphAsync(const CallOptions& options, std::shared_ptr<const RegisterGraphArgs> args,
                                      ResultCallback<std::string> done) {
  absl::StatusOr<grpc::ByteBuffer> buffer = MessageToBuffer(args->request);
  if (!buffer.ok()) return done(buffer.status());
  channel_.CallAsync("/tensorflow.WorkerService/RegisterGraph", channel_.Bounded(options), *buffer,
                     [this, args, done = std::move(done)](absl::StatusOr<grpc::ByteBuffer> reply) {
                       if (!reply.ok()) return done(reply.status());
                       tensorflow::RegisterGraphResponse response;
                       if (absl::Status status = MessageFromBuffer(*reply, &response); !status.ok())
                         return done(status);
                       auto keys = std::make_shared<GraphKeys>(GraphKeys{args->feed_keys, args->fetch_keys});
                       {
                         MutexLock lock(mu_);
                         graphs_[{args->request.session_handle(), response.graph_handle()}] = std::move(keys);
                       }
                       done(response.graph_handle());
                     });
}

void RemoteWorker::DeregisterGraphAsync(const CallOptions& options, const tensorflow::DeregisterGraphRequest* request,
                                        tensorflow::DeregisterGraphResponse* response, DoneCallback done) {
  {
    MutexLock lock(mu_);
    graphs_.erase(GraphId(request->session_handle(), request->graph_handle()));
  }
  CallMessage("/tensorflow.WorkerService/DeregisterGraph", channel_.Bounded(options), *request, response,
              std::move(done));
}

absl::StatusOr<std::shared_ptr<const RemoteWorker::GraphKeys>> RemoteWorker::KeysOf(const std::string& session,
                                                                                    const std::string& graph) {
  MutexLock lock(mu_);
  auto found = graphs_.find(GraphId(session, graph));
  if (found == graphs_.end()) return GraphIsLost(graph);
  return found->second;
}

void RemoteWorker::RunGraphAsync(const CallOptions& options, std::shared_ptr<const RunGraphArgs> args,
                                 ResultCallback<RunGraphResult> done) {
  auto keys = KeysOf(args->session_handle, args->graph_handle);
  if (!keys.ok()) return done(keys.status());
  const GraphKeys& graph = **keys;
  absl::Status indices = CheckIndices(args->feed_indices, graph.feeds.size(), "feed");
  indices.Update(CheckIndices(args->fetch_indices, graph.fetches.size(), "fetch"));
  const size_t num_feeds = args->feeds.size();
  const bool all_feeds = args->feed_indices.empty() && num_feeds == graph.feeds.size();
  if (!all_feeds && num_feeds != args->feed_indices.size()) {
    indices.Update(errors::Internal("RunGraph: ", num_feeds, " feeds for ", graph.feeds.size(), " keys"));
  }
  if (!indices.ok()) return done(indices);

  std::vector<std::pair<Key, const Tensor*>> feeds;
  for (size_t i = 0; i < num_feeds; ++i) {
    feeds.emplace_back(graph.feeds[all_feeds ? i : args->feed_indices[i]], &args->feeds[i]);
  }
  std::vector<Key> fetches;
  if (args->fetch_indices.empty() && !args->is_partial) {
    fetches.assign(graph.fetches.begin(), graph.fetches.end());
  } else {
    for (int i : args->fetch_indices) fetches.push_back(graph.fetches[i]);
  }
  const int64_t request_id = args->request_id != 0 ? args->request_id : request_ids_.Next();
  absl::StatusOr<grpc::ByteBuffer> buffer = EncodeRunGraphRequest(*args, feeds, fetches, request_id);
  if (!buffer.ok()) return done(buffer.status());

  CallAsync(kLinkRunGraph, options, *buffer,
            [this, keys = *keys, fetches = std::move(fetches), done = std::move(done)](
                const char*, const absl::StatusOr<grpc::ByteBuffer>& reply) {
              if (!reply.ok()) return done(reply.status());
              auto wire = DecodeRunGraphResponse(*reply, channel_.options().allocator);
              if (!wire.ok()) return done(wire.status());
              if (!wire->body_status.ok()) return done(wire->body_status);
              absl::flat_hash_map<Key, Tensor*> by_key;
              for (auto& [key, tensor] : wire->recv) by_key[key] = &tensor;
              for (Key key : fetches) {
                auto found = by_key.find(key);
                if (found == by_key.end()) {
                  return done(errors::Internal("Task ", channel_.options().task, " gave no tensor for ", key));
                }
                wire->result.fetches.push_back(*found->second);
              }
              done(std::move(wire->result));
            });
}

void RemoteWorker::CleanupGraphAsync(const CallOptions& options, const tensorflow::CleanupGraphRequest* request,
                                     tensorflow::CleanupGraphResponse* response, DoneCallback done) {
  absl::StatusOr<grpc::ByteBuffer> buffer = MessageToBuffer(*request);
  if (!buffer.ok()) return done(buffer.status());
  CallAsync(kLinkCleanupGraph, channel_.Bounded(options), *buffer,
            [response, done = std::move(done)](const char*, const absl::StatusOr<grpc::ByteBuffer>& reply) {
              done(reply.ok() ? MessageFromBuffer(*reply, response) : reply.status());
            });
}

void RemoteWorker::CleanupAllAsync(const CallOptions& options, const tensorflow::CleanupAllRequest* request,
                                   tensorflow::CleanupAllResponse* response, DoneCallback done) {
  CallMessage("/tensorflow.WorkerService/CleanupAll", channel_.Bounded(options), *request, response, std::move(done));
}

void RemoteWorker::RecvTensorAsync(const CallOptions& options, int64_t step_id, absl::string_view key,
                                   ResultCallback<Rendezvous::Received> done) {
  WireRecvTensor request;
  request.step_id = step_id;
  request.key = std::string(key);
  request.request_id = request_ids_.Next();
  std::shared_ptr<ReceivingArena> arena = shared_memory_.Offer();
  if (arena != nullptr) request.transport_options = arena->offer();
  const auto receive = [this, route = options.route, id = request.request_id, arena, done = std::move(done)](
                           const char* route_of_answer, const absl::StatusOr<grpc::ByteBuffer>& reply) {
    if (route != nullptr) *route = route_of_answer;
    auto received = reply.ok() ? Receive(*reply, id, arena, route) : reply.status();
    if (!received.ok() && arena != nullptr) shared_memory_.Retire(arena);
    done(std::move(received));
  };
  CallAsync(kLinkRecvTensor, options, EncodeRecvTensorRequest(request), receive);
}

void RemoteWorker::Acknowledge(int64_t request_id) {
  tensorflow::MarkRecvFinishedRequest request;
  request.set_request_id(request_id);
  auto response = std::make_shared<tensorflow::MarkRecvFinishedResponse>();
  // If this fails, the sender keeps its answer longer than needed.
  CallMessage("/tensorflow.WorkerService/MarkRecvFinished", channel_.Bounded({}), request, response.get(),
              [response](const absl::Status&) {});
}

absl::StatusOr<Rendezvous::Received> RemoteWorker::Receive(const grpc::ByteBuffer& reply, int64_t request_id,
                                                           const std::shared_ptr<ReceivingArena>& arena,
                                                           const char** route) {
  ASSIGN_OR_RETURN(WireReceived wire, DecodeRecvTensorResponse(reply, channel_.options().allocator));
  if (wire.require_ack) Acknowledge(request_id);
  ASSIGN_OR_RETURN(std::optional<Tensor> shared, TakeShared(wire.transport_options, arena));
  if (shared.has_value()) {
    wire.received.tensor = *std::move(shared);
    if (route != nullptr) *route = "through shared memory";
  }
  return std::move(wire.received);
}

absl::StatusOr<std::optional<Tensor>> RemoteWorker::TakeShared(const std::string& transport_options,
                                                               const std::shared_ptr<ReceivingArena>& arena) {
  std::optional<Tensor> tensor;
  if (arena == nullptr || transport_options.empty()) return tensor;
  google::protobuf::Any options;
  SharedMemoryReply shared;
  if (!options.ParseFromString(transport_options) || !options.UnpackTo(&shared)) return tensor;
  if (shared.outcome() == SharedMemoryReply::WRITTEN) {
    ASSIGN_OR_RETURN(tensor, arena->Take(shared));
    if (TransportMetrics* const metrics = channel_.options().metrics; metrics != nullptr) {
      metrics->shared_tensors.received.Add(tensor->TotalBytes());
    }
  } else if (shared.outcome() == SharedMemoryReply::TAKEN) {
    shared_memory_.Retire(arena);
  } else if (shared.outcome() == SharedMemoryReply::UNREACHABLE) {
    shared_memory_.Stop();
  }
  return tensor;
}

void RemoteWorker::RecvBufAsync(const CallOptions& options, std::shared_ptr<const RecvBufArgs> args,
                                ResultCallback<ReceivedBytes> done) {
  if (const auto link = buffers_.Current(); link != nullptr && link->Begin(options, *args, done)) return;
  tensorflow::RecvBufRequest request;
  request.set_step_id(args->step_id);
  request.set_buf_rendezvous_key(args->key);
  request.set_num_bytes(args->num_bytes);
  request.set_src_device(args->src_device);
  request.set_dst_device(args->dst_device);
  request.set_src_incarnation(args->src_incarnation);
  request.set_request_id(request_ids_.Next());
  std::shared_ptr<ReceivingArena> arena;
  if (args->num_bytes >= kMinSharedBytes) arena = shared_memory_.Offer();
  if (arena != nullptr) request.mutable_transport_options()->ParseFromString(arena->offer());
  absl::StatusOr<grpc::ByteBuffer> buffer = MessageToBuffer(request);
  if (!buffer.ok()) return done(buffer.status());
  channel_.CallAsync("/tensorflow.WorkerService/RecvBuf", options, *buffer,
                     [this, args, id = request.request_id(), arena = std::move(arena),
                      done = std::move(done)](absl::StatusOr<grpc::ByteBuffer> reply) {
                       auto received = reply.ok() ? ReceiveBuffer(*reply, id, arena) : reply.status();
                       if (!received.ok() && arena != nullptr) shared_memory_.Retire(arena);
                       if (received.ok() && received->bytes().size() != args->num_bytes) {
                         return done(errors::Internal("RecvBuf returned ", received->bytes().size(),
                                                      " bytes where to_tensor expected ", args->num_bytes));
                       }
                       done(std::move(received));
                     });
}

absl::StatusOr<ReceivedBytes> RemoteWorker::ReceiveBuffer(const grpc::ByteBuffer& reply, int64_t request_id,
                                                          const std::shared_ptr<ReceivingArena>& arena) {
  ASSIGN_OR_RETURN(WireBuffer wire, DecodeRecvBufResponse(reply));
  if (wire.require_ack) Acknowledge(request_id);
  if (wire.transport_options.empty()) return std::move(wire.bytes);
  ASSIGN_OR_RETURN(std::optional<Tensor> shared, TakeShared(wire.transport_options, arena));
  if (!shared) return errors::Internal("RecvBuf got no bytes from task ", channel_.options().task);
  const absl::Span<const char> bytes(shared->data<char>(), static_cast<size_t>(shared->TotalBytes()));
  return ReceivedBytes(bytes, [tensor = *std::move(shared)]() mutable { tensor.DropBuffer(); });
}

void RemoteWorker::JoinGroupAsync(const CallOptions& options, const JoinGroupRequest* request,
                                  JoinGroupResponse* response, DoneCallback done) {
  CallMessage("/weir.PeerService/JoinGroup", options, *request, response, std::move(done));
}

void RemoteWorker::CompleteInstanceAsync(const CallOptions& options, const tensorflow::CompleteInstanceRequest* request,
                                         tensorflow::CompleteInstanceResponse* response, DoneCallback done) {
  CallMessage("/tensorflow.WorkerService/CompleteInstance", options, *request, response, std::move(done));
}

void RemoteWorker::GetStepSequenceAsync(const CallOptions& options, const tensorflow::GetStepSequenceRequest* request,
                                        tensorflow::GetStepSequenceResponse* response, DoneCallback done) {
  CallMessage("/tensorflow.WorkerService/GetStepSequence", channel_.Bounded(options), *request, response,
              std::move(done));
}

void RemoteWorker::LoggingAsync(const CallOptions& options, const tensorflow::LoggingRequest* request,
                                tensorflow::LoggingResponse* response, DoneCallback done) {
  CallMessage("/tensorflow.WorkerService/Logging", channel_.Bounded(options), *request, response, std::move(done));
}

void RemoteWorker::TracingAsync(const CallOptions& options, const tensorflow::TracingRequest* request,
                                tensorflow::TracingResponse* response, DoneCallback done) {
  CallMessage("/tensorflow.WorkerService/Tracing", options, *request, response, std::move(done));
}

}  // namespace weir
