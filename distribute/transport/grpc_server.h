// A gRPC server whose methods see bytes, not messages.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <grpcpp/support/byte_buffer.h>

#include "absl/time/time.h"
#include "core/status.h"
#include "distribute/transport/message_stream.h"
#include "distribute/transport/worker_interface.h"

namespace weir {

// One call as its handler sees it. Valid until Finish or Fail, of which exactly one is called, once, on any thread.
class ServerCall {
 public:
  virtual const grpc::ByteBuffer& request() const = 0;
  // The client's deadline; cancellation fires when the client cancels, goes away or runs out of time, and at shutdown.
  virtual CallOptions options() = 0;
  virtual void Finish(const grpc::ByteBuffer& response) = 0;
  virtual void Fail(const absl::Status& status) = 0;
  // Runs `work`, which may compute for long: here, unless others wait for this thread; else soon on another.
  virtual void RunLong(std::function<void()> work) { work(); }

 protected:
  virtual ~ServerCall() = default;
};

struct ServerMethod {
  std::string path;  // "/tensorflow.MasterService/RunStep"
  // Runs on a polling thread, where it may block. Methods that links carry (frames/link_methods.h) must not.
  std::function<void(ServerCall*)> handle;
  // Calls that may last: several are kept ready, and their cancellation is watched.
  bool long_running = false;
  // `handle` waits for others. Refused where no thread would be left to serve them.
  bool blocks = false;
};

// A call that lasts, with messages both ways.
struct ServerStreamMethod {
  std::string path;
  // Runs on a polling thread; it starts the stream, or refuses it.
  std::function<void(std::shared_ptr<MessageStream>)> handle;
};

// Serves `methods` and `streams`; any other method is answered with UNIMPLEMENTED, naming it. Thread-safe. Calls are
// driven by a completion queue whose threads run the handlers themselves (see PollingThreads).
class GrpcServer {
 public:
  struct Options {
    std::string bind_address = "127.0.0.1:0";  // port 0: the system chooses
    int max_request_bytes = -1;                // -1: as many as a message can have
    int max_threads = 1024;
    std::vector<ServerMethod> methods;
    std::vector<ServerStreamMethod> streams;
  };

  // AlreadyExists or InvalidArgument, with the system's reason, when the address cannot be bound; a port is never
  // shared.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(Options options);
  ~GrpcServer();  // Shutdown with no patience

  // As bound: with the port that the system chose.
  const std::string& address() const { return address_; }

  // Refuses new calls, and gives those in flight until `deadline`. Streams go on.
  void Drain(absl::Time deadline);
  // The same with `patience`, then cancels the rest, streams too, and waits for their handlers. Not to be called from a
  // handler. Later calls do nothing.
  void Shutdown(absl::Duration patience);

 private:
  class Core;
  GrpcServer(std::unique_ptr<Core> core, std::string address);

  const std::unique_ptr<Core> core_;
  const std::string address_;
};

}  // namespace weir
