#include "distribute/transport/grpc_master_client.h"

#include <utility>

#include "distribute/transport/message_codec.h"

namespace weir {

GrpcMasterClient::GrpcMasterClient(GrpcChannelOptions options) : channel_(std::move(options), nullptr) {}

absl::Status GrpcMasterClient::CallMessage(const char* method, const CallOptions& options,
                                           const google::protobuf::MessageLite& request,
                                           google::protobuf::MessageLite* response) {
  return channel_.CallMessage(method, channel_.Bounded(options), request, response);
}

template <typename Request>
Request GrpcMasterClient::WithId(const Request& request) {
  Request copy = request;
  if (copy.request_id() == 0) copy.set_request_id(request_ids_.Next());
  return copy;
}

absl::Status GrpcMasterClient::CreateSession(const CallOptions& options,
                                             const tensorflow::CreateSessionRequest& request,
                                             tensorflow::CreateSessionResponse* response) {
  return CallMessage("/tensorflow.MasterService/CreateSession", options, request, response);
}

absl::Status GrpcMasterClient::ExtendSession(const CallOptions& options,
                                             const tensorflow::ExtendSessionRequest& request,
                                             tensorflow::ExtendSessionResponse* response) {
  return CallMessage("/tensorflow.MasterService/ExtendSession", options, request, response);
}

absl::Status GrpcMasterClient::PartialRunSetup(const CallOptions& options,
                                               const tensorflow::PartialRunSetupRequest& request,
                                               tensorflow::PartialRunSetupResponse* response) {
  return CallMessage("/tensorflow.MasterService/PartialRunSetup", options, WithId(request), response);
}

absl::StatusOr<RunStepResult> GrpcMasterClient::RunStep(const CallOptions& options, const RunStepArgs& args) {
  ASSIGN_OR_RETURN(const grpc::ByteBuffer request,
                   EncodeRunStepRequest(args, args.request_id != 0 ? args.request_id : request_ids_.Next()));
  ASSIGN_OR_RETURN(const grpc::ByteBuffer reply, channel_.Call("/tensorflow.MasterService/RunStep", options, request));
  return DecodeRunStepResponse(reply, args.fetches, channel_.options().allocator);
}

absl::Status GrpcMasterClient::CloseSession(const CallOptions& options, const tensorflow::CloseSessionRequest& request,
                                            tensorflow::CloseSessionResponse* response) {
  return CallMessage("/tensorflow.MasterService/CloseSession", options, request, response);
}

absl::Status GrpcMasterClient::ListDevices(const CallOptions& options, const tensorflow::ListDevicesRequest& request,
                                           tensorflow::ListDevicesResponse* response) {
  return CallMessage("/tensorflow.MasterService/ListDevices", options, request, response);
}

absl::Status GrpcMasterClient::Reset(const CallOptions& options, const tensorflow::ResetRequest& request,
                                     tensorflow::ResetResponse* response) {
  return CallMessage("/tensorflow.MasterService/Reset", options, request, response);
}

absl::Status GrpcMasterClient::MakeCallable(const CallOptions& options, const tensorflow::MakeCallableRequest& request,
                                            tensorflow::MakeCallableResponse* response) {
  return CallMessage("/tensorflow.MasterService/MakeCallable", options, WithId(request), response);
}

absl::StatusOr<RunStepResult> GrpcMasterClient::RunCallable(const CallOptions& options, const RunCallableArgs& args) {
  ASSIGN_OR_RETURN(const grpc::ByteBuffer request,
                   EncodeRunCallableRequest(args, args.request_id != 0 ? args.request_id : request_ids_.Next()));
  ASSIGN_OR_RETURN(const grpc::ByteBuffer reply,
                   channel_.Call("/tensorflow.MasterService/RunCallable", options, request));
  return DecodeRunCallableResponse(reply, channel_.options().allocator);
}

absl::Status GrpcMasterClient::ReleaseCallable(const CallOptions& options,
                                               const tensorflow::ReleaseCallableRequest& request,
                                               tensorflow::ReleaseCallableResponse* response) {
  return CallMessage("/tensorflow.MasterService/ReleaseCallable", options, request, response);
}

}  // namespace weir
