// A client's interface to a master: the same calls in process and over gRPC.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/status.h"
#include "core/tensor/tensor.h"
#include "distribute/transport/worker_interface.h"
#include "tensorflow/core/protobuf/master.pb.h"

namespace weir {

// A step as the client requests it. Names are "node:output" (":0" may be omitted); targets are node names.
struct RunStepArgs {
  std::string session_handle;
  std::string partial_run_handle;  // empty: a whole step
  std::vector<std::pair<std::string, Tensor>> feeds;
  std::vector<std::string> fetches;
  std::vector<std::string> targets;
  tensorflow::RunOptions options;
  int64_t request_id = 0;
};

struct RunStepResult {
  std::vector<Tensor> fetches;  // in the order of RunStepArgs::fetches
  tensorflow::RunMetadata metadata;
};

struct RunCallableArgs {
  std::string session_handle;
  int64_t handle = 0;
  std::vector<Tensor> feeds;
  int64_t request_id = 0;
};

// Thread-safe. Calls block until they are done or reach the options' deadline (DEADLINE_EXCEEDED). Step errors carry
// their origin. In process nothing is serialised.
class MasterInterface {
 public:
  virtual ~MasterInterface() = default;

  virtual absl::Status CreateSession(const CallOptions& options, const tensorflow::CreateSessionRequest& request,
                                     tensorflow::CreateSessionResponse* response) = 0;
  virtual absl::Status ExtendSession(const CallOptions& options, const tensorflow::ExtendSessionRequest& request,
                                     tensorflow::ExtendSessionResponse* response) = 0;
  virtual absl::Status PartialRunSetup(const CallOptions& options, const tensorflow::PartialRunSetupRequest& request,
                                       tensorflow::PartialRunSetupResponse* response) = 0;
  virtual absl::StatusOr<RunStepResult> RunStep(const CallOptions& options, const RunStepArgs& args) = 0;
  virtual absl::Status CloseSession(const CallOptions& options, const tensorflow::CloseSessionRequest& request,
                                    tensorflow::CloseSessionResponse* response) = 0;
  virtual absl::Status ListDevices(const CallOptions& options, const tensorflow::ListDevicesRequest& request,
                                   tensorflow::ListDevicesResponse* response) = 0;
  virtual absl::Status Reset(const CallOptions& options, const tensorflow::ResetRequest& request,
                             tensorflow::ResetResponse* response) = 0;
  virtual absl::Status MakeCallable(const CallOptions& options, const tensorflow::MakeCallableRequest& request,
                                    tensorflow::MakeCallableResponse* response) = 0;
  virtual absl::StatusOr<RunStepResult> RunCallable(const CallOptions& options, const RunCallableArgs& args) = 0;
  virtual absl::Status ReleaseCallable(const CallOptions& options, const tensorflow::ReleaseCallableRequest& request,
                                       tensorflow::ReleaseCallableResponse* response) = 0;
};

}  // namespace weir
