// weir.PythonService of a task: connects sessions with the clients whose Python has their functions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <grpcpp/completion_queue.h>

#include "absl/container/flat_hash_map.h"
#include "core/kernel/python_functions.h"
#include "core/mutex.h"
#include "core/threads/timer_queue.h"
#include "distribute/membership/cluster_membership.h"
#include "distribute/transport/grpc_channel.h"
#include "distribute/transport/grpc_server.h"
#include "distribute/transport/polling_threads.h"
#include "distribute/transport/python/python_client.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace weir {

// Thread-safe. A client opens a stream to this task and names its service, a secret. Sessions name it too, with the
// task that has the stream: calls of other tasks are passed on to that one. So no task connects to an address that a
// client has given.
// - Outlives the server that has its methods, and the sessions.
class PythonService {
 public:
  // The name in RewriterConfig's custom_optimizers under which a session names its service. Parameters: service and
  // task (s), timeout_in_ms (i; 600,000 by default).
  static constexpr char kOptimizer[] = "PythonFunctions";
  static constexpr size_t kMaxClients = 1024;
  // Those of clients that connect anew or have not greeted yet are among them.
  static constexpr size_t kMaxStreams = 2 * kMaxClients;

  // `membership` is that of the task, and outlives this.
  explicit PythonService(const ClusterMembership* membership);
  ~PythonService();

  std::vector<ServerMethod> Methods();
  std::vector<ServerStreamMethod> Streams();
  // The functions of the session that has these options: null if it names no service, InvalidArgument for malformed
  // parameters. The client need not be connected yet.
  absl::StatusOr<std::shared_ptr<PythonFunctions>> FunctionsOf(const tensorflow::GraphOptions& options);

 private:
  class SessionFunctions;
  struct Relay;

  void Serve(std::shared_ptr<MessageStream> stream);
  absl::Status Add(const std::string& service, const std::shared_ptr<PythonClient>& client);
  void Remove(const PythonClient* client);
  // Unavailable if the client is not connected.
  absl::StatusOr<std::shared_ptr<PythonClient>> Find(const std::string& service);
  void CallHere(const std::string& service, PythonFunctionCall call, absl::Duration timeout,
                CancellationManager* cancellation, PythonFunctions::DoneCallback done);
  void PassOn(const std::string& task, const std::string& service, PythonFunctionCall call, absl::Duration timeout,
              CancellationManager* cancellation, PythonFunctions::DoneCallback done);
  void HandleCall(ServerCall* call);
  absl::StatusOr<std::shared_ptr<GrpcChannel>> ChannelTo(const std::string& task);

  const ClusterMembership* const membership_;
  const std::string task_;
  TimerQueue timers_;
  Mutex mu_;
  size_t streams_ GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<std::string, std::shared_ptr<PythonClient>> clients_ GUARDED_BY(mu_);  // by service
  std::unique_ptr<Relay> relay_ GUARDED_BY(mu_);  // created by the first call for another task
};

}  // namespace weir
