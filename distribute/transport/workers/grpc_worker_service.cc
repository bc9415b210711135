#include "distribute/transport/workers/grpc_worker_service.h"

#include "absl/time/clock.h"
#include "distribute/transport/lost_graph.h"
#include "distribute/transport/message_method.h"
#include "distribute/transport/recv_buf_codec.h"
#include "distribute/transport/shared_memory/sending_arena.h"

namespace weir {
namespace {

constexpr absl::string_view kPeerService = "weir.PeerService";

// A method that one call of the worker answers.
template <typename Request, typename Response>
ServerMethod Forward(absl::string_view name, WorkerInterface* worker,
                     void (WorkerInterface::*method)(const CallOptions&, const Request*, Response*,
                                                     WorkerInterface::DoneCallback),
                     bool long_running = false, absl::string_view service = "tensorflow.WorkerService") {
  return {absl::StrCat("/", service, "/", name),
          [worker, method](ServerCall* call) {
            ServeMessage<Request, Response>(call, [&](const CallOptions& options, auto messages, auto done) {
              (worker->*method)(options, &messages->request, &messages->response, std::move(done));
            });
          },
          long_running};
}

bool BoolAttr(const tensorflow::NodeDef& node, const char* name) {
  auto found = node.attr().find(name);
  return found != node.attr().end() && found->second.b();
}

std::string StringAttr(const tensorflow::NodeDef& node, const char* name) {
  auto found = node.attr().find(name);
  return found != node.attr().end() ? found->second.s() : std::string();
}

int64_t IntAttr(const tensorflow::NodeDef& node, const char* name) {
  auto found = node.attr().find(name);
  return found != node.attr().end() ? found->second.i() : 0;
}

// The keys of client feeds and fetches, from nodes marked client_terminated.
RegisterGraphArgs WithClientKeys(tensorflow::RegisterGraphRequest request) {
  RegisterGraphArgs args;
  args.request = std::move(request);
  for (const tensorflow::NodeDef& node : args.request.graph_def().node()) {
    const bool recv = node.op() == "_Recv" || node.op() == "_HostRecv";
    const bool send = node.op() == "_Send" || node.op() == "_HostSend";
    if ((!recv && !send) || !BoolAttr(node, "client_terminated")) continue;
    std::string key = RendezvousKey::Create(
        StringAttr(node, "send_device"), static_cast<uint64_t>(IntAttr(node, "send_device_incarnation")),
        StringAttr(node, "recv_device"), StringAttr(node, "tensor_name"), FrameAndIter());
    (recv ? args.feed_keys : args.fetch_keys).push_back(std::move(key));
  }
  return args;
}

// Memory owned elsewhere.
class BorrowedMemory : public TensorBuffer {
 public:
  explicit BorrowedMemory(absl::Span<const char> bytes) : TensorBuffer(const_cast<char*>(bytes.data()), bytes.size()) {}
  bool CanForward() const override { return false; }
};

// Elements that are not plain, such as strings, are encoded one by one.
bool IsLongToEncode(const Tensor& tensor) {
  constexpr int64_t kLongBytes = 256 << 10, kManyElements = 1 << 10;
  if (!tensor.IsInitialized()) return false;
  return IsPlainType(tensor.dtype()) ? tensor.TotalBytes() >= kLongBytes : tensor.NumElements() >= kManyElements;
}

absl::flat_hash_map<std::string, int> Positions(const std::vector<std::string>& keys) {
  absl::flat_hash_map<std::string, int> positions;
  for (size_t i = 0; i < keys.size(); ++i) positions.emplace(keys[i], static_cast<int>(i));
  return positions;
}

// The positions of `keys(0) … keys(count-1)` in `known`; empty if they are all keys in order, unless the run is
// partial.
template <typename KeyAt>
absl::StatusOr<std::vector<int>> Indices(size_t count, KeyAt key_at, const std::vector<std::string>& known,
                                         const absl::flat_hash_map<std::string, int>& positions, bool is_partial,
                                         absl::string_view what) {
  bool in_order = !is_partial && count == known.size();
  for (size_t i = 0; i < count && in_order; ++i) in_order = key_at(i) == known[i];
  std::vector<int> indices;
  if (in_order) return indices;
  indices.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    auto found = positions.find(key_at(i));
    if (found == positions.end()) {
      return errors::InvalidArgument("RunGraph: the graph has no ", what, " '", key_at(i), "'");
    }
    indices.push_back(found->second);
  }
  return indices;
}

}  // namespace

GrpcWorkerService::GrpcWorkerService(WorkerInterface* worker, SharedMemorySender* shared_memory, Allocator* allocator)
    : worker_(worker), shared_memory_(shared_memory), allocator_(allocator) {}

std::vector<ServerMethod> GrpcWorkerService::Methods() {
  const auto own = [this](absl::string_view name, void (GrpcWorkerService::*method)(ServerCall*), bool long_running) {
    return ServerMethod{absl::StrCat("/tensorflow.WorkerService/", name),
                        [this, method](ServerCall* call) { (this->*method)(call); }, long_running};
  };
  return {
      Forward("GetStatus", worker_, &WorkerInterface::GetStatusAsync),
      Forward("CreateWorkerSession", worker_, &WorkerInterface::CreateWorkerSessionAsync),
      own("DeleteWorkerSession", &GrpcWorkerService::DeleteWorkerSession, false),
      own("RegisterGraph", &GrpcWorkerService::RegisterGraph, false),
      own("DeregisterGraph", &GrpcWorkerService::DeregisterGraph, false),
      own("RunGraph", &GrpcWorkerService::RunGraph, true),
      Forward("CleanupGraph", worker_, &WorkerInterface::CleanupGraphAsync),
      Forward("CleanupAll", worker_, &WorkerInterface::CleanupAllAsync),
      own("RecvTensor", &GrpcWorkerService::RecvTensor, true),
      own("RecvBuf", &GrpcWorkerService::RecvBuf, true),
      own("CompleteGroup", &GrpcWorkerService::CompleteGroup, true),
      Forward("GetCapabilities", worker_, &WorkerInterface::GetCapabilitiesAsync, /*long_running=*/false, kPeerService),
      Forward("ResolveStep", worker_, &WorkerInterface::ResolveStepAsync, /*long_running=*/false, kPeerService),
      Forward("FenceSteps", worker_, &WorkerInterface::FenceStepsAsync, /*long_running=*/true, kPeerService),
      Forward("GetStepWaits", worker_, &WorkerInterface::GetStepWaitsAsync, /*long_running=*/false, kPeerService),
      Forward("JoinGroup", worker_, &WorkerInterface::JoinGroupAsync, /*long_running=*/true, kPeerService),
      Forward("CompleteInstance", worker_, &WorkerInterface::CompleteInstanceAsync, /*long_running=*/true),
      Forward("GetStepSequence", worker_, &WorkerInterface::GetStepSequenceAsync),
      // Tensors are sent without asking for an acknowledgement.
      {"/tensorflow.WorkerService/MarkRecvFinished",
       [](ServerCall* call) {
         ServeMessage<tensorflow::MarkRecvFinishedRequest, tensorflow::MarkRecvFinishedResponse>(
             call, [](const CallOptions&, auto, auto done) { done(absl::OkStatus()); });
       }},
      Forward("Logging", worker_, &WorkerInterface::LoggingAsync),
      Forward("Tracing", worker_, &WorkerInterface::TracingAsync, /*long_running=*/true),
  };
}

void GrpcWorkerService::RegisterGraph(ServerCall* call) {
  tensorflow::RegisterGraphRequest request;
  if (absl::Status status = MessageFromBuffer(call->request(), &request); !status.ok()) return call->Fail(status);
  auto args = std::make_shared<const RegisterGraphArgs>(WithClientKeys(std::move(request)));
  worker_->RegisterGraphAsync(call->options(), args, [this, call, args](absl::StatusOr<std::string> handle) {
    if (!handle.ok()) return call->Fail(handle.status());
    auto keys = std::make_shared<GraphKeys>();
    keys->feeds = args->feed_keys;
    keys->fetches = args->fetch_keys;
    keys->feed_index = Positions(keys->feeds);
    keys->fetch_index = Positions(keys->fetches);
    {
      MutexLock lock(mu_);
      graphs_[{args->request.session_handle(), *handle}] = std::move(keys);
    }
    tensorflow::RegisterGraphResponse response;
    response.set_graph_handle(*handle);
    absl::StatusOr<grpc::ByteBuffer> buffer = MessageToBuffer(response);
    buffer.ok() ? call->Finish(*buffer) : call->Fail(buffer.status());
  });
}

void GrpcWorkerService::DeregisterGraph(ServerCall* call) {
  ServeMessage<tensorflow::DeregisterGraphRequest, tensorflow::DeregisterGraphResponse>(
      call, [this](const CallOptions& options, auto messages, auto done) {
        {
          MutexLock lock(mu_);
          graphs_.erase(GraphId(messages->request.session_handle(), messages->request.graph_handle()));
        }
        worker_->DeregisterGraphAsync(options, &messages->request, &messages->response, std::move(done));
      });
}

void GrpcWorkerService::DeleteWorkerSession(ServerCall* call) {
  ServeMessage<tensorflow::DeleteWorkerSessionRequest, tensorflow::DeleteWorkerSessionResponse>(
      call, [this](const CallOptions& options, auto messages, auto done) {
        {
          MutexLock lock(mu_);
          for (auto it = graphs_.begin(); it != graphs_.end();) {
            if (it->first.first == messages->request.session_handle()) {
              graphs_.erase(it++);
            } else {
              ++it;
            }
          }
        }
        worker_->DeleteWorkerSessionAsync(options, &messages->request, &messages->response, std::move(done));
      });
}

absl::StatusOr<std::shared_ptr<const GrpcWorkerService::GraphKeys>> GrpcWorkerService::KeysOf(
    const RunGraphArgs& args) {
  MutexLock lock(mu_);
  auto found = graphs_.find(GraphId(args.session_handle, args.graph_handle));
  if (found == graphs_.end()) return GraphIsLost(args.graph_handle);
  return found->second;
}

absl::StatusOr<std::shared_ptr<RunGraphArgs>> GrpcWorkerService::ArgsOf(WireRunGraph* wire) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const GraphKeys> keys, KeysOf(wire->args));
  auto args = std::make_shared<RunGraphArgs>(std::move(wire->args));
  ASSIGN_OR_RETURN(args->feed_indices,
                   Indices(
                       wire->send.size(), [&](size_t i) -> const std::string& { return wire->send[i].first; },
                       keys->feeds, keys->feed_index, args->is_partial, "feed"));
  ASSIGN_OR_RETURN(args->fetch_indices,
                   Indices(
                       wire->recv_keys.size(), [&](size_t i) -> const std::string& { return wire->recv_keys[i]; },
                       keys->fetches, keys->fetch_index, args->is_partial, "fetch"));
  args->feeds.reserve(wire->send.size());
  for (auto& [key, tensor] : wire->send) args->feeds.push_back(std::move(tensor));
  return args;
}

void GrpcWorkerService::RunGraph(ServerCall* call) {
  absl::StatusOr<WireRunGraph> wire = DecodeRunGraphRequest(call->request(), allocator_);
  if (!wire.ok()) return call->Fail(wire.status());
  const bool errors_in_body = wire->store_errors_in_response_body;
  const auto fail = [call, errors_in_body](const absl::Status& status) {
    errors_in_body ? call->FinishWithError(EncodeRunGraphError(status)) : call->Fail(status);
  };
  if (absl::Status status = recent_ids_.TrackUnique(wire->args.request_id, "RunGraph"); !status.ok()) {
    return fail(status);
  }
  absl::StatusOr<std::shared_ptr<RunGraphArgs>> args = ArgsOf(&*wire);
  if (!args.ok()) return fail(args.status());
  auto recv_keys = std::make_shared<const std::vector<std::string>>(std::move(wire->recv_keys));
  worker_->RunGraphAsync(call->options(), *args, [call, fail, recv_keys](absl::StatusOr<RunGraphResult> result) {
    if (!result.ok()) return fail(result.status());
    // A client may request none of the fetches, although the graph returns all of them.
    if (!recv_keys->empty() && result->fetches.size() != recv_keys->size()) {
      return fail(
          errors::Internal("RunGraph gave ", result->fetches.size(), " tensors for ", recv_keys->size(), " keys"));
    }
    absl::StatusOr<grpc::ByteBuffer> buffer =
        EncodeRunGraphResponse(*result, std::vector<absl::string_view>(recv_keys->begin(), recv_keys->end()));
    buffer.ok() ? call->Finish(*buffer) : fail(buffer.status());
  });
}

void GrpcWorkerService::RecvTensor(ServerCall* call) {
  absl::StatusOr<WireRecvTensor> request = DecodeRecvTensorRequest(call->request());
  if (!request.ok()) return call->Fail(request.status());
  if (absl::Status status = recent_ids_.TrackUnique(request->request_id, "RecvTensor"); !status.ok()) {
    return call->Fail(status);
  }
  const int64_t step_id = request->step_id;
  auto wire = std::make_shared<const WireRecvTensor>(*std::move(request));
  worker_->RecvTensorAsync(call->options(), step_id, wire->key,
                           [this, call, wire](absl::StatusOr<Rendezvous::Received> received) {
                             if (!received.ok()) return call->Fail(received.status());
                             const bool is_long = IsLongToEncode(received->tensor);
                             const auto respond = [this, call, wire, received = *std::move(received)] {
                               absl::StatusOr<grpc::ByteBuffer> buffer = ResponseTo(*wire, received);
                               buffer.ok() ? call->Finish(*buffer) : call->Fail(Annotate(buffer.status(), wire->key));
                             };
                             is_long ? call->RunLong(respond) : respond();
                           });
}

void GrpcWorkerService::RecvBuf(ServerCall* call) {
  auto request = std::make_shared<tensorflow::RecvBufRequest>();
  if (absl::Status status = MessageFromBuffer(call->request(), request.get()); !status.ok()) return call->Fail(status);
  if (absl::Status status = recent_ids_.TrackUnique(request->request_id(), "RecvBuf"); !status.ok()) {
    return call->Fail(status);
  }
  auto args = std::make_shared<RecvBufArgs>();
  args->step_id = request->step_id();
  args->key = request->buf_rendezvous_key();
  args->num_bytes = request->num_bytes();
  args->src_device = request->src_device();
  args->dst_device = request->dst_device();
  args->src_incarnation = request->src_incarnation();
  worker_->RecvBufAsync(call->options(), std::move(args), [this, call, request](absl::StatusOr<ReceivedBytes> bytes) {
    if (!bytes.ok()) return call->Fail(bytes.status());
    call->Finish(ResponseTo(*request, *std::move(bytes)));
  });
}

void GrpcWorkerService::CompleteGroup(ServerCall* call) {
  struct Joining {
    JoinGroupRequest request;
    JoinGroupResponse response;
  };
  ServeMessage<tensorflow::CompleteGroupRequest, tensorflow::CompleteGroupResponse>(
      call, [this](const CallOptions& options, auto messages, auto done) {
        auto joining = std::make_shared<Joining>();
        joining->request.mutable_group()->Swap(&messages->request);
        worker_->JoinGroupAsync(options, &joining->request, &joining->response,
                                [joining, messages, done = std::move(done)](absl::Status status) {
                                  messages->response.Swap(joining->response.mutable_group());
                                  done(std::move(status));
                                });
      });
}

grpc::ByteBuffer GrpcWorkerService::ResponseTo(const tensorflow::RecvBufRequest& request, ReceivedBytes bytes) {
  const int64_t now = absl::ToUnixMicros(absl::Now());
  const auto size = static_cast<int64_t>(bytes.bytes().size());
  if (shared_memory_ == nullptr || !request.has_transport_options() || size == 0) {
    return EncodeRecvBufResponse(std::move(bytes), now);
  }
  bool written = false;
  const Tensor view = Tensor::FromBuffer(DT_UINT8, TensorShape({size}), new BorrowedMemory(bytes.bytes()));
  const std::string options = shared_memory_->Write(request.transport_options().SerializeAsString(), view, &written);
  return written ? EncodeRecvBufResponse(size, now, options) : EncodeRecvBufResponse(std::move(bytes), now);
}

absl::StatusOr<grpc::ByteBuffer> GrpcWorkerService::ResponseTo(const WireRecvTensor& request,
                                                               const Rendezvous::Received& received) {
  const int64_t now = absl::ToUnixMicros(absl::Now());
  if (shared_memory_ == nullptr || request.transport_options.empty() || received.is_dead) {
    return EncodeRecvTensorResponse(received, now);
  }
  bool written = false;
  const std::string options = shared_memory_->Write(request.transport_options, received.tensor, &written);
  return EncodeRecvTensorResponse(written ? Rendezvous::Received() : received, now, options);
}

}  // namespace weir
