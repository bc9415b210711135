// Calls to one task over gRPC, with Weir's deadlines, cancellation and errors.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <grpcpp/completion_queue.h>
#include <grpcpp/support/byte_buffer.h>

#include "absl/time/time.h"
#include "core/memory/allocator.h"
#include "core/mutex.h"
#include "core/status.h"
#include "distribute/transport/liveness/call_watch.h"
#include "distribute/transport/transport_metrics.h"
#include "distribute/transport/worker_interface.h"

namespace grpc {
class Channel;
class ClientContext;
class Status;
}  // namespace grpc

namespace google::protobuf {
class MessageLite;
}

namespace weir {

class LinkPoller;
class MessageStream;
class StreamLinks;

struct GrpcChannelOptions {
  std::string address;  // "host:port", "[::1]:port", "unix:path"
  std::string task;     // for messages: "/job:ps/replica:0/task:1"; a client may leave it empty
  // A peer from which nothing comes for interval + timeout, not even answers to pings, is considered dead: its calls
  // end with UNAVAILABLE. A large message may take longer (call_watch.h). Only peers that agreed to it are pinged
  // (ping_agreement.h); others are detected by their connection or by the calls' deadlines.
  absl::Duration ping_interval = absl::Seconds(4);
  absl::Duration ping_timeout = absl::Seconds(3);
  // Between attempts to connect. Short, because the first step after a restart may wait for several channels in turn.
  absl::Duration max_reconnect_backoff = absl::Milliseconds(100);
  // For short calls without a deadline.
  absl::Duration default_timeout = absl::Seconds(60);
  Allocator* allocator = CpuAllocator();  // for tensors received
  // Offers memory for tensors to a peer on this host. Peers that do not know of it send tensors in messages.
  bool shared_memory = true;
  // For links through shared memory; outlives the channel; null: none are opened.
  LinkPoller* links = nullptr;
  // As `links`, for links through streams, which reach other hosts too.
  StreamLinks* streams = nullptr;
  std::string local_task;  // this process's task, for the peer's messages; may be empty
  // Shared by channels with the same ping_interval and ping_timeout; outlives them. Null: the channel has its own.
  CallWatch* watch = nullptr;
  // Counts the bytes of calls, not of streams, and of tensors from shared memory; outlives the channel; may be null.
  TransportMetrics* metrics = nullptr;
};

// Connects at the first call, and again after a connection was lost. Thread-safe.
// - Calls never wait for a peer to appear: they end with UNAVAILABLE, which names task and address, and carry the task
//   as their origin. If this process has no file left for a connection, they end with RESOURCE_EXHAUSTED, which names
//   the limit.
class GrpcChannel {
 public:
  using DoneCallback = std::function<void(absl::StatusOr<grpc::ByteBuffer>)>;

  // `queue`, used by CallAsync, outlives all calls and is driven by PollingThreads. Null if only Call is used.
  GrpcChannel(GrpcChannelOptions options, grpc::CompletionQueue* queue);
  ~GrpcChannel();

  const GrpcChannelOptions& options() const { return options_; }

  // `method` is a full path, "/tensorflow.WorkerService/RunGraph", and outlives the call.
  void CallAsync(const char* method, const CallOptions& options, const grpc::ByteBuffer& request, DoneCallback done);
  absl::StatusOr<grpc::ByteBuffer> Call(const char* method, const CallOptions& options,
                                        const grpc::ByteBuffer& request);
  // The same for messages. `response` is unchanged if the call fails.
  absl::Status CallMessage(const char* method, const CallOptions& options, const google::protobuf::MessageLite& request,
                           google::protobuf::MessageLite* response);
  // A long-lived call with messages both ways; it is not started yet. It ends with gRPC's status, unchanged.
  std::shared_ptr<MessageStream> OpenStream(const char* method);
  // Adds the deadline of default_timeout if the call has none.
  CallOptions Bounded(CallOptions options) const;

 private:
  class AsyncCall;
  enum class Pings { kUnknown, kAgreed, kRejected };
  struct Connection {
    std::shared_ptr<grpc::Channel> channel;
    std::shared_ptr<grpc::Channel> previous;  // used instead if `channel`, which is new, could not connect
    bool asks = false;                        // calls ask the peer to allow pings
    bool is_pinged = false;                   // `channel` is
    std::string peer;                         // for CallWatch; empty: not known yet
  };

  Connection Current();
  absl::StatusOr<grpc::ByteBuffer> CallOver(const Connection& connection, const char* method,
                                            const CallOptions& options, const grpc::ByteBuffer& request);
  // Learns from a call over `connection` that has ended.
  void Learn(const Connection& connection, const grpc::ClientContext& context, const grpc::Status& status,
             const CallWatch::Verdict& verdict);
  // The peer is silent: later calls open another connection.
  void Abandon(const Connection& connection);
  void CountSent(const grpc::ByteBuffer& request) {
    if (options_.metrics != nullptr) options_.metrics->calls.sent.Add(request.Length());
  }
  void CountReceived(const grpc::ByteBuffer& response) {
    if (options_.metrics != nullptr) options_.metrics->calls.received.Add(response.Length());
  }
  // True if the call never left this process: repeat it on the previous connection.
  static bool RetriesOnPrevious(const Connection& connection, const grpc::Status& status);
  absl::Status ToStatus(const grpc::Status& status, const char* method, const CallOptions& options,
                        const CallWatch::Verdict& verdict) const;

  const GrpcChannelOptions options_;
  const std::unique_ptr<CallWatch> own_watch_;
  CallWatch* const watch_;
  grpc::CompletionQueue* const queue_;
  Mutex mu_;
  std::string peer_ GUARDED_BY(mu_);
  Pings pings_ GUARDED_BY(mu_) = Pings::kUnknown;
  std::shared_ptr<grpc::Channel> channel_ GUARDED_BY(mu_);
  std::shared_ptr<grpc::Channel> previous_ GUARDED_BY(mu_);  // until a call over `channel_` is answered
};

}  // namespace weir
