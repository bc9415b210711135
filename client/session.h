// Runs graphs built with a Scope, in this process or on a cluster, through the same interface.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "client/scope.h"
#include "core/api.h"
#include "core/proto_value.h"
#include "core/status.h"
#include "core/tensor/tensor.h"
#include "graph/output.h"

namespace WEIR_API weir {

using FeedList = std::vector<std::pair<Output, Tensor>>;
using NamedFeedList = std::vector<std::pair<std::string, Tensor>>;

// Fields as in TensorFlow's config.proto, set by the proto's header or by text (MergeText): trace_level, timeout_in_ms
// …
using RunOptions = ProtoValue<tensorflow::RunOptions>;

struct SessionOptions {
  // As in TensorFlow's config.proto: config.MergeText("allow_soft_placement: true").
  ProtoValue<tensorflow::ConfigProto> config;
  // The same bits in every run, whatever the number of threads and their timing (docs/determinism.md). Local sessions
  // also follow the environment variable TF_DETERMINISTIC_OPS.
  bool deterministic = false;
  // An upper bound for every call; RunOptions.timeout_in_ms and config.operation_timeout_in_ms may be shorter.
  absl::Duration call_timeout = absl::Minutes(60);
  // How long the master may wait for the cluster's tasks. Connecting to an address without a server fails at once.
  absl::Duration connect_timeout = absl::Minutes(2);
};

// A device of a session's cluster.
struct DeviceInfo {
  std::string name;                  // "/job:worker/replica:0/task:0/device:CPU:0"
  std::string type;                  // "CPU" or "GPU"
  int64_t memory_limit = 0;          // bytes
  uint64_t incarnation = 0;          // another one after a restart of its task
  std::string physical_device_desc;  // a GPU's name and bus; a CPU's threads: "threads: 8"
};

// A connection to a master, with one graph. Thread-safe: steps may run concurrently. The graph may grow between runs:
// the next Run or MakeCallable sends the nodes added since.
class Session {
 public:
  // Runs a master and a worker in this process, the same code as on a cluster, without sockets or serialisation.
  // Variables live as long as the session.
  static absl::StatusOr<std::unique_ptr<Session>> Local(const Scope& scope, SessionOptions options = {});
  // `target`: "grpc://host:port" of any task of a cluster. UNAVAILABLE or DEADLINE_EXCEEDED names the address, or the
  // missing tasks.
  static absl::StatusOr<std::unique_ptr<Session>> Connect(const std::string& target, const Scope& scope,
                                                          SessionOptions options = {});
  // Closes the session and ignores errors.
  virtual ~Session() = default;

  // Computes `fetches`, replacing outputs by `feeds`, and runs `targets`. Errors name task, device, node and op.
  // `metadata`, from a ProtoValue<tensorflow::RunMetadata>, receives what `run_options` asks for.
  virtual absl::StatusOr<std::vector<Tensor>> Run(const FeedList& feeds, const std::vector<Output>& fetches,
                                                  const std::vector<Operation>& targets = {},
                                                  const RunOptions& run_options = {},
                                                  tensorflow::RunMetadata* metadata = nullptr) = 0;
  absl::StatusOr<std::vector<Tensor>> Run(const std::vector<Output>& fetches) { return Run({}, fetches); }
  absl::Status RunTargets(const std::vector<Operation>& targets) { return Run({}, {}, targets).status(); }
  // The same by names ("x:0"; targets "train").
  virtual absl::StatusOr<std::vector<Tensor>> RunNamed(const NamedFeedList& feeds,
                                                       const std::vector<std::string>& fetches,
                                                       const std::vector<std::string>& targets = {},
                                                       const RunOptions& run_options = {},
                                                       tensorflow::RunMetadata* metadata = nullptr) = 0;

  // A prepared signature: the cheapest way to run the same step many times. Fails once its session is closed.
  class Callable {
   public:
    virtual ~Callable() = default;
    virtual absl::StatusOr<std::vector<Tensor>> Run(const std::vector<Tensor>& feeds) = 0;
  };
  virtual absl::StatusOr<std::unique_ptr<Callable>> MakeCallable(const std::vector<Output>& feeds,
                                                                 const std::vector<Output>& fetches,
                                                                 const std::vector<Operation>& targets = {}) = 0;

  virtual absl::StatusOr<std::vector<DeviceInfo>> ListDevices() = 0;
  virtual absl::Status Close() = 0;
};

}  // namespace weir
