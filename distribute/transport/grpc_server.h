// A gRPC server whose methods handle bytes, not messages.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <grpcpp/support/byte_buffer.h>

#include "absl/time/time.h"
#include "core/status.h"
#include "distribute/transport/message_stream.h"
#include "distribute/transport/transport_metrics.h"
#include "distribute/transport/worker_interface.h"

namespace weir {

// Channels of this library announce themselves, because they send no request twice.
inline constexpr char kUserAgent[] = "weir";

// Whether a call's cancellation, with this status, may be followed by the same request: other clients send theirs again
// when a connection breaks, and never cancel one.
bool MayComeAgain(const absl::Status& cancelled);

// One call, as its handler sees it. Valid until Finish or Fail, exactly one of which is called, once, on any thread.
class ServerCall {
 public:
  virtual const grpc::ByteBuffer& request() const = 0;
  // The connection that brought the call, for GrpcServer::IsConnected.
  virtual std::string connection() const { return ""; }
  // The client's deadline. The cancellation fires with CANCELLED if the client cancels, disconnects or exceeds its
  // deadline, and with UNAVAILABLE at shutdown.
  virtual CallOptions options() = 0;
  virtual void Finish(const grpc::ByteBuffer& response) = 0;
  virtual void Fail(const absl::Status& status) = 0;
  // As Fail, for a response that carries the error itself.
  virtual void FinishWithError(const grpc::ByteBuffer& response) { Finish(response); }
  // Runs `work`, which may take long: inline, unless others wait for this thread; else soon, on another thread.
  virtual void RunLong(std::function<void()> work) { work(); }

 protected:
  virtual ~ServerCall() = default;
};

struct ServerMethod {
  std::string path;  // "/tensorflow.MasterService/RunStep"
  // Runs on a polling thread, where it may block. Methods that links carry (frames/link_methods.h) must not block.
  std::function<void(ServerCall*)> handle;
  // For calls that may last: several are kept pending, and their cancellation is watched.
  bool long_running = false;
  // `handle` waits for others. Rejected if no thread would be left to serve them.
  bool blocks = false;
  // `handle` may wait too, but is never rejected: it ends calls that wait, or answers soon. If no thread would be left
  // to serve others, it gets one of a few that are reserved.
  bool reserved = false;
};

// A long-lived call with messages both ways.
struct ServerStreamMethod {
  std::string path;
  // Runs on a polling thread; it starts or rejects the stream.
  std::function<void(std::shared_ptr<MessageStream>)> handle;
};

// Serves `methods` and `streams`; other methods get UNIMPLEMENTED, which names them. Thread-safe. The threads of its
// completion queue run the handlers themselves (see PollingThreads).
class GrpcServer {
 public:
  struct Options {
    std::string bind_address = "127.0.0.1:0";  // port 0: the system chooses
    int max_request_bytes = -1;                // -1: as many as a message can hold
    int max_threads = 1024;
    std::vector<ServerMethod> methods;
    std::vector<ServerStreamMethod> streams;
    TransportMetrics* metrics = nullptr;  // counts calls, not streams; outlives the server; may be null
  };

  // AlreadyExists or InvalidArgument, with the system's reason, if the address cannot be bound. A port is never shared.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(Options options);
  ~GrpcServer();  // shuts down without a grace period

  // As bound, with the actual port.
  const std::string& address() const { return address_; }

  // Whether a call's connection is still open.
  bool IsConnected(absl::string_view connection) const;

  // The number of calls that handlers serve now.
  int running_calls() const;

  // Rejects new calls and waits until `deadline` for running ones. Streams continue.
  void Drain(absl::Time deadline);
  // As Drain with `patience`, then cancels the remaining calls and streams and waits for their handlers. Must not be
  // called from a handler. Later calls do nothing.
  void Shutdown(absl::Duration patience);

 private:
  class Core;
  GrpcServer(std::unique_ptr<Core> core, std::string address);

  const std::unique_ptr<Core> core_;
  const std::string address_;
};

}  // namespace weir
