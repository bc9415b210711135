// The interface of a task's worker to masters and other workers: the same calls in process and over gRPC.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "core/rendezvous/rendezvous.h"
#include "core/status.h"
#include "core/tensor/tensor.h"
#include "distribute/cluster/cluster_spec.h"
#include "distribute/transport/received_bytes.h"
#include "tensorflow/core/protobuf/worker.pb.h"
#include "weir/peer.pb.h"

namespace weir {

// Options of every call. At the deadline a call ends with DEADLINE_EXCEEDED, which names the task.
struct CallOptions {
  absl::Time deadline = absl::InfiniteFuture();
  CancellationManager* cancellation = nullptr;  // the call ends with CANCELLED when it fires
  const char** route =
      nullptr;  // of RecvTensor: set, before `done`, to the route that the tensor took; a static string
};

// A partition to be registered with a worker.
struct RegisterGraphArgs {
  tensorflow::RegisterGraphRequest request;
  // Rendezvous keys of client-terminated _Recv (feeds) and _Send (fetches) nodes, in the order of RunGraph's tensors.
  std::vector<std::string> feed_keys;
  std::vector<std::string> fetch_keys;
};

// One step of one registered partition. Feeds and fetches are identified by their position in RegisterGraphArgs' keys;
// each call of a partial run has only some of them, listed by index.
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
  int64_t request_id = 0;     // identifies retries of one call
};

struct RunGraphResult {
  std::vector<Tensor> fetches;
  tensorflow::StepStats step_stats;                    // when exec_opts.record_timeline
  tensorflow::CostGraphDef cost_graph;                 // when exec_opts.record_costs
  std::vector<tensorflow::GraphDef> partition_graphs;  // when exec_opts.record_partition_graphs
};

// A request for a buffer that a member of a collective offers under a key.
struct RecvBufArgs {
  int64_t step_id = 0;
  std::string key;
  int64_t num_bytes = 0;
  std::string src_device, dst_device;
  uint64_t src_incarnation = 0;  // 0: any
};

// Thread-safe.
// - Every `done` runs exactly once, with no lock held, perhaps on the caller's thread before the call returns.
// - Messages belong to the caller and live until `done`.
// - Comments name the retry safety; see worker_service.proto.
class WorkerInterface {
 public:
  using DoneCallback = std::function<void(absl::Status)>;
  template <typename T>
  using ResultCallback = std::function<void(absl::StatusOr<T>)>;

  virtual ~WorkerInterface() = default;

  virtual void GetStatusAsync(const CallOptions& options, const tensorflow::GetStatusRequest* request,
                              tensorflow::GetStatusResponse* response, DoneCallback done) = 0;  // idempotent
  // UNIMPLEMENTED from tasks of other runtimes, which have no capabilities.
  virtual void GetCapabilitiesAsync(const CallOptions& options, const GetCapabilitiesRequest* request,
                                    GetCapabilitiesResponse* response, DoneCallback done) = 0;  // idempotent
  // See peer.proto. UNIMPLEMENTED from tasks of other runtimes.
  virtual void ResolveStepAsync(const CallOptions& options, const ResolveStepRequest* request,
                                ResolveStepResponse* response, DoneCallback done) = 0;  // idempotent
  virtual void FenceStepsAsync(const CallOptions& options, const FenceStepsRequest* request,
                               FenceStepsResponse* response, DoneCallback done) = 0;  // idempotent
  virtual void GetStepWaitsAsync(const CallOptions& options, const GetStepWaitsRequest* request,
                                 GetStepWaitsResponse* response, DoneCallback done) = 0;  // idempotent
  virtual void CreateWorkerSessionAsync(const CallOptions& options,
                                        const tensorflow::CreateWorkerSessionRequest* request,
                                        tensorflow::CreateWorkerSessionResponse* response, DoneCallback done) = 0;
  virtual void DeleteWorkerSessionAsync(const CallOptions& options,
                                        const tensorflow::DeleteWorkerSessionRequest* request,
                                        tensorflow::DeleteWorkerSessionResponse* response, DoneCallback done) = 0;
  // Returns the graph handle.
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
  // Waits until the tensor of `key` is produced. Never retried: if a response is lost, a retry would wait indefinitely.
  virtual void RecvTensorAsync(const CallOptions& options, int64_t step_id, absl::string_view key,
                               ResultCallback<Rendezvous::Received> done) = 0;
  // As RecvTensor. The sender may reuse its memory once the result is destroyed.
  virtual void RecvBufAsync(const CallOptions& options, std::shared_ptr<const RecvBufArgs> args,
                            ResultCallback<ReceivedBytes> done) = 0;
  // Serves CompleteGroup too: a member without GroupMember belongs to another runtime.
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

// Finds workers by task name ("/job:ps/replica:0/task:1"). Thread-safe. Interfaces are valid while the pool lives.
class WorkerPool {
 public:
  virtual ~WorkerPool() = default;
  // All tasks of the cluster, in order of job name and index.
  virtual std::vector<std::string> Tasks() const = 0;
  // NotFound, which lists the tasks, if the cluster does not have it. Does not connect; the first call does.
  virtual absl::StatusOr<std::shared_ptr<WorkerInterface>> Get(absl::string_view task) = 0;
};

// The workers of a cluster that a session brings along, in which this task is `local_task`. Thread-safe. The result is
// valid while this task's own pool lives.
using ClusterWorkers = std::function<absl::StatusOr<std::shared_ptr<WorkerPool>>(const ClusterSpec& cluster,
                                                                                 const std::string& local_task)>;

}  // namespace weir
