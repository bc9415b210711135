// How a master talks to a task's worker, and workers to each other: the same calls in process and over gRPC.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "core/rendezvous.h"
#include "core/status.h"
#include "core/tensor.h"
#include "distribute/transport/received_bytes.h"
#include "tensorflow/core/protobuf/worker.pb.h"
#include "weir/peer.pb.h"

namespace weir {

// What accompanies every call. A call ends with DEADLINE_EXCEEDED, naming the task, at the deadline.
struct CallOptions {
  absl::Time deadline = absl::InfiniteFuture();
  CancellationManager* cancellation = nullptr;  // the call ends with CANCELLED when it fires
  const char** way = nullptr;  // of RecvTensor: set, before `done`, to the way that the tensor came, in words
};

// A partition handed to a worker.
struct RegisterGraphArgs {
  tensorflow::RegisterGraphRequest request;
  // Rendezvous keys of client-terminated _Recv (feeds) and _Send (fetches) nodes, in the order in which RunGraph gives
  // and returns tensors.
  std::vector<std::string> feed_keys;
  std::vector<std::string> fetch_keys;
};

// One step of one registered partition. Feeds and fetches are by position in RegisterGraphArgs' keys; with partial
// runs each call gives or asks only a part, listed by index.
struct RunGraphArgs {
  std::string session_handle;
  std::string graph_handle;
  int64_t step_id = 0;
  std::vector<int> feed_indices;  // empty: all, in order
  std::vector<Tensor> feeds;
  std::vector<int> fetch_indices;  // empty: all, in order, unless is_partial
  tensorflow::ExecutorOpts exec_opts;
  bool is_partial = false;
  bool is_last_partial_run = false;
  bool caller_waits = false;  // in process: the calling thread may compute and block until the part is done
  int64_t request_id = 0;     // tells a retried call from a new one
};

struct RunGraphResult {
  std::vector<Tensor> fetches;
  tensorflow::StepStats step_stats;                    // when exec_opts.record_timeline
  tensorflow::CostGraphDef cost_graph;                 // when exec_opts.record_costs
  std::vector<tensorflow::GraphDef> partition_graphs;  // when exec_opts.record_partition_graphs
};

// A buffer of a collective that a member offers under a key.
struct RecvBufArgs {
  int64_t step_id = 0;
  std::string key;
  int64_t num_bytes = 0;
  std::string src_device, dst_device;
  uint64_t src_incarnation = 0;  // 0: any
};

// Thread-safe. Every `done` runs exactly once, with no lock held, perhaps on the caller's thread before the call
// returns. Messages are the caller's and must live until `done`. Comments name the retry safety; see
// worker_service.proto.
class WorkerInterface {
 public:
  using DoneCallback = std::function<void(absl::Status)>;
  template <typename T>
  using ResultCallback = std::function<void(absl::StatusOr<T>)>;

  virtual ~WorkerInterface() = default;

  virtual void GetStatusAsync(const CallOptions& options, const tensorflow::GetStatusRequest* request,
                              tensorflow::GetStatusResponse* response, DoneCallback done) = 0;  // idempotent
  // UNIMPLEMENTED from tasks that are not Weir's: they have no capabilities.
  virtual void GetCapabilitiesAsync(const CallOptions& options, const GetCapabilitiesRequest* request,
                                    GetCapabilitiesResponse* response, DoneCallback done) = 0;  // idempotent
  virtual void CreateWorkerSessionAsync(const CallOptions& options,
                                        const tensorflow::CreateWorkerSessionRequest* request,
                                        tensorflow::CreateWorkerSessionResponse* response, DoneCallback done) = 0;
  virtual void DeleteWorkerSessionAsync(const CallOptions& options,
                                        const tensorflow::DeleteWorkerSessionRequest* request,
                                        tensorflow::DeleteWorkerSessionResponse* response, DoneCallback done) = 0;
  // Gives the graph handle.
  virtual void RegisterGraphAsync(const CallOptions& options, std::shared_ptr<const RegisterGraphArgs> args,
                                  ResultCallback<std::string> done) = 0;
  virtual void DeregisterGraphAsync(const CallOptions& options, const tensorflow::DeregisterGraphRequest* request,
                                    tensorflow::DeregisterGraphResponse* response,
                                    DoneCallback done) = 0;  // idempotent
  virtual void RunGraphAsync(const CallOptions& options, std::shared_ptr<const RunGraphArgs> args,
                             ResultCallback<RunGraphResult> done) = 0;  // not idempotent
  virtual void CleanupGraphAsync(const CallOptions& options, const tensorflow::CleanupGraphRequest* request,
                                 tensorflow::CleanupGraphResponse* response, DoneCallback done) = 0;  // idempotent
  virtual void CleanupAllAsync(const CallOptions& options, const tensorflow::CleanupAllRequest* request,
                               tensorflow::CleanupAllResponse* response, DoneCallback done) = 0;  // idempotent
  // Waits until the tensor of `key` is produced. A response that got lost would leave a retry waiting for ever: never
  // retried.
  virtual void RecvTensorAsync(const CallOptions& options, int64_t step_id, absl::string_view key,
                               ResultCallback<Rendezvous::Received> done) = 0;
  // As RecvTensor. The sender may reuse its memory when what `done` got is gone.
  virtual void RecvBufAsync(const CallOptions& options, std::shared_ptr<const RecvBufArgs> args,
                            ResultCallback<ReceivedBytes> done) = 0;
  // Serves CompleteGroup too: a member without GroupMember is another runtime's.
  virtual void JoinGroupAsync(const CallOptions& options, const JoinGroupRequest* request, JoinGroupResponse* response,
                              DoneCallback done) = 0;  // idempotent
  virtual void CompleteInstanceAsync(const CallOptions& options, const tensorflow::CompleteInstanceRequest* request,
                                     tensorflow::CompleteInstanceResponse* response,
                                     DoneCallback done) = 0;  // idempotent
  virtual void GetStepSequenceAsync(const CallOptions& options, const tensorflow::GetStepSequenceRequest* request,
                                    tensorflow::GetStepSequenceResponse* response,
                                    DoneCallback done) = 0;  // idempotent
  virtual void LoggingAsync(const CallOptions& options, const tensorflow::LoggingRequest* request,
                            tensorflow::LoggingResponse* response, DoneCallback done) = 0;
  virtual void TracingAsync(const CallOptions& options, const tensorflow::TracingRequest* request,
                            tensorflow::TracingResponse* response, DoneCallback done) = 0;
};

// Finds workers by task name ("/job:ps/replica:0/task:1"). Thread-safe. Interfaces stay valid while the pool lives.
class WorkerPool {
 public:
  virtual ~WorkerPool() = default;
  // Every task of the cluster, in order of job name and index.
  virtual std::vector<std::string> Tasks() const = 0;
  // NotFound, listing what there is, for a task that is not of the cluster. Never connects by itself: a call does.
  virtual absl::StatusOr<std::shared_ptr<WorkerInterface>> Get(absl::string_view task) = 0;
};

}  // namespace weir
