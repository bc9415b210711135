// A remote master, over gRPC.
#pragma once

#include "distribute/transport/grpc_channel.h"
#include "distribute/transport/master_interface.h"
#include "distribute/transport/recent_request_ids.h"

namespace weir {

// Thread-safe. Calls wait in gRPC on the calling thread; there is no thread of its own. Calls without a deadline get
// the channel's default, except RunStep and RunCallable, which last as long as their step.
class GrpcMasterClient : public MasterInterface {
 public:
  explicit GrpcMasterClient(GrpcChannelOptions options);

  absl::Status CreateSession(const CallOptions& options, const tensorflow::CreateSessionRequest& request,
                             tensorflow::CreateSessionResponse* response) override;
  absl::Status ExtendSession(const CallOptions& options, const tensorflow::ExtendSessionRequest& request,
                             tensorflow::ExtendSessionResponse* response) override;
  absl::Status PartialRunSetup(const CallOptions& options, const tensorflow::PartialRunSetupRequest& request,
                               tensorflow::PartialRunSetupResponse* response) override;
  absl::StatusOr<RunStepResult> RunStep(const CallOptions& options, const RunStepArgs& args) override;
  absl::Status CloseSession(const CallOptions& options, const tensorflow::CloseSessionRequest& request,
                            tensorflow::CloseSessionResponse* response) override;
  absl::Status ListDevices(const CallOptions& options, const tensorflow::ListDevicesRequest& request,
                           tensorflow::ListDevicesResponse* response) override;
  absl::Status Reset(const CallOptions& options, const tensorflow::ResetRequest& request,
                     tensorflow::ResetResponse* response) override;
  absl::Status MakeCallable(const CallOptions& options, const tensorflow::MakeCallableRequest& request,
                            tensorflow::MakeCallableResponse* response) override;
  absl::StatusOr<RunStepResult> RunCallable(const CallOptions& options, const RunCallableArgs& args) override;
  absl::Status ReleaseCallable(const CallOptions& options, const tensorflow::ReleaseCallableRequest& request,
                               tensorflow::ReleaseCallableResponse* response) override;

 private:
  absl::Status CallMessage(const char* method, const CallOptions& options, const google::protobuf::MessageLite& request,
                           google::protobuf::MessageLite* response);
  // Returns `request` with a new id if it has none.
  template <typename Request>
  Request WithId(const Request& request);

  GrpcChannel channel_;
  RequestIdSource request_ids_;
};

}  // namespace weir
