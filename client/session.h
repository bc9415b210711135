// Running what a Scope built: in this process or on a cluster, through the same calls.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "client/scope.h"
#include "core/status.h"
#include "core/tensor.h"
#include "graph/output.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace tensorflow {
class ListDevicesResponse;
}

namespace weir {

using FeedList = std::vector<std::pair<Output, Tensor>>;
using NamedFeedList = std::vector<std::pair<std::string, Tensor>>;

struct SessionOptions {
  tensorflow::ConfigProto config;
  // Every call ends by then; RunOptions.timeout_in_ms and config.operation_timeout_in_ms are sooner.
  absl::Duration call_timeout = absl::Minutes(60);
  absl::Duration connect_timeout = absl::Minutes(2);
};

// A connection to a master, with one graph. Thread-safe: steps may run from many threads at once. The graph may grow
// between runs: what the Scope gained since is sent by the next Run or MakeCallable.
class Session {
 public:
  // The same master and worker as on a cluster, in this process, without sockets or serialisation. Variables live as
  // long as the session.
  static absl::StatusOr<std::unique_ptr<Session>> Local(const Scope& scope, SessionOptions options = {});
  // `target`: "grpc://host:port" of any task of a cluster. UNAVAILABLE or DEADLINE_EXCEEDED names the address, or the
  // tasks that are missing.
  static absl::StatusOr<std::unique_ptr<Session>> Connect(const std::string& target, const Scope& scope,
                                                          SessionOptions options = {});
  // Closes, and drops the error.
  virtual ~Session() = default;

  // Computes `fetches` with `feeds` in place of those outputs, and runs `targets`. Errors name task, device, node, op.
  virtual absl::StatusOr<std::vector<Tensor>> Run(const FeedList& feeds, const std::vector<Output>& fetches,
                                                  const std::vector<Operation>& targets = {},
                                                  const tensorflow::RunOptions& run_options = {},
                                                  tensorflow::RunMetadata* metadata = nullptr) = 0;
  absl::StatusOr<std::vector<Tensor>> Run(const std::vector<Output>& fetches) { return Run({}, fetches); }
  absl::Status RunTargets(const std::vector<Operation>& targets) { return Run({}, {}, targets).status(); }
  // The same by names ("x:0"; targets "train").
  virtual absl::StatusOr<std::vector<Tensor>> RunNamed(const NamedFeedList& feeds,
                                                       const std::vector<std::string>& fetches,
                                                       const std::vector<std::string>& targets = {},
                                                       const tensorflow::RunOptions& run_options = {},
                                                       tensorflow::RunMetadata* metadata = nullptr) = 0;

  // A signature prepared once: the cheapest way to run the same step many times. After its session, it runs no more.
  class Callable {
   public:
    virtual ~Callable() = default;
    virtual absl::StatusOr<std::vector<Tensor>> Run(const std::vector<Tensor>& feeds) = 0;
  };
  virtual absl::StatusOr<std::unique_ptr<Callable>> MakeCallable(const std::vector<Output>& feeds,
                                                                 const std::vector<Output>& fetches,
                                                                 const std::vector<Operation>& targets = {}) = 0;

  virtual absl::StatusOr<tensorflow::ListDevicesResponse> ListDevices() = 0;
  virtual absl::Status Close() = 0;
};

}  // namespace weir
