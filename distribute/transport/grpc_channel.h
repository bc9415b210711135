// Calls to one task over gRPC, with the deadline, cancellation and errors of the runtime.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <grpcpp/completion_queue.h>
#include <grpcpp/support/byte_buffer.h>

#include "absl/time/time.h"
#include "core/allocator.h"
#include "core/mutex.h"
#include "core/status.h"
#include "distribute/transport/worker_interface.h"

namespace grpc {
class Channel;
class ClientContext;
class Status;
}  // namespace grpc

namespace weir {

class LinkPoller;
class MessageStream;
class StreamLinks;

struct GrpcChannelOptions {
  std::string address;  // "host:port", "[::1]:port", "unix:path"
  std::string task;     // for messages: "/job:ps/replica:0/task:1"; may be empty for a client
  // A peer that answers no ping for interval + timeout is taken for dead: its calls end with UNAVAILABLE. Only a peer
  // that agreed is pinged (ping_agreement.h); others are missed by their connection or by the calls' deadlines.
  absl::Duration ping_interval = absl::Seconds(4);
  absl::Duration ping_timeout = absl::Seconds(3);
  absl::Duration max_reconnect_backoff = absl::Seconds(1);
  // For calls that bring no deadline and are expected to end soon.
  absl::Duration default_timeout = absl::Seconds(60);
  Allocator* allocator = CpuAllocator();  // for tensors received
  // Offer a peer on this host memory to put tensors in. Peers that do not know of it send them as ever.
  bool shared_memory = true;
  // For links through shared memory, outlives the channel; null: there are none.
  LinkPoller* links = nullptr;
  // The same for links through streams, with which other hosts are reached too.
  StreamLinks* streams = nullptr;
  std::string local_task;  // of this process, for the peer's messages; may be empty
};

// Thread-safe. Connects at the first call, and again when the connection was lost. Calls never wait for a peer that is
// not there: they end with UNAVAILABLE, naming task and address, and carry the task as their origin.
class GrpcChannel {
 public:
  using DoneCallback = std::function<void(absl::StatusOr<grpc::ByteBuffer>)>;

  // `queue`, for CallAsync, outlives all calls and is driven by PollingThreads; nullptr where only Call is used.
  GrpcChannel(GrpcChannelOptions options, grpc::CompletionQueue* queue);
  ~GrpcChannel();

  const GrpcChannelOptions& options() const { return options_; }

  // `method` is a full path, "/tensorflow.WorkerService/RunGraph", and outlives the call.
  void CallAsync(const char* method, const CallOptions& options, const grpc::ByteBuffer& request, DoneCallback done);
  absl::StatusOr<grpc::ByteBuffer> Call(const char* method, const CallOptions& options,
                                        const grpc::ByteBuffer& request);
  // A call that lasts, with messages both ways, which has not begun. What it ends with is as gRPC has it.
  std::shared_ptr<MessageStream> OpenStream(const char* method);
  // With the deadline that default_timeout gives, where there is none.
  CallOptions Bounded(CallOptions options) const;

 private:
  class AsyncCall;
  enum class Pings { kUnknown, kAgreed, kRefused };
  struct Connection {
    std::shared_ptr<grpc::Channel> channel;
    std::shared_ptr<grpc::Channel> former;  // goes where `channel`, which is new, did not come to be connected
    bool asks = false;                      // calls are to ask for pings
  };

  Connection Current();
  absl::StatusOr<grpc::ByteBuffer> CallOver(const Connection& connection, const char* method,
                                            const CallOptions& options, const grpc::ByteBuffer& request);
  // From a call over `connection` that has ended.
  void Learn(const Connection& connection, const grpc::ClientContext& context, const grpc::Status& status);
  // The call is to be made again, over the former connection: it has never left.
  static bool GoesOverFormer(const Connection& connection, const grpc::Status& status);
  absl::Status ToStatus(const grpc::Status& status, const char* method, const CallOptions& options) const;

  const GrpcChannelOptions options_;
  grpc::CompletionQueue* const queue_;
  Mutex mu_;
  Pings pings_ GUARDED_BY(mu_) = Pings::kUnknown;
  std::shared_ptr<grpc::Channel> channel_ GUARDED_BY(mu_);
  std::shared_ptr<grpc::Channel> former_ GUARDED_BY(mu_);  // until a call over `channel_` was answered
};

}  // namespace weir
