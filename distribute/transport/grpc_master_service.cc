#include "distribute/transport/grpc_master_service.h"

#include <string>
#include <utility>

#include "core/memory/out_of_memory.h"
#include "distribute/transport/message_codec.h"
#include "distribute/transport/message_method.h"

namespace weir {
namespace {

std::string Path(absl::string_view name) { return absl::StrCat("/tensorflow.MasterService/", name); }

// Runs `run`, a call of `session`, which gets a status or a result.
template <typename Run>
auto InSession(ClientLeases* leases, const ServerCall& call, const std::string& session, Run run) -> decltype(run()) {
  if (leases == nullptr || session.empty()) return run();
  ClientLeases::Call leased(leases, session, call.connection());
  RETURN_IF_ERROR(leased.status());
  auto result = run();
  if (result.ok()) leased.Succeeded();
  return result;
}

template <typename Request>
std::string SessionOf(const Request& request) {
  if constexpr (requires { request.session_handle(); }) return request.session_handle();
  return "";
}

// A method served by one call of the master. `after` (may be null) gets its messages once it has succeeded.
template <typename Request, typename Response>
ServerMethod Forward(absl::string_view name, MasterInterface* master, ClientLeases* leases,
                     absl::Status (MasterInterface::*method)(const CallOptions&, const Request&, Response*),
                     void (*after)(ClientLeases*, const ServerCall&, const Request&, const Response&) = nullptr) {
  return {Path(name),
          [=](ServerCall* call) {
            ServeMessage<Request, Response>(call, [&](const CallOptions& options, auto messages, auto done) {
              const Request& request = messages->request;
              const absl::Status status = InSession(leases, *call, SessionOf(request), [&] {
                return OrOutOfMemory([&] { return (master->*method)(options, request, &messages->response); });
              });
              if (status.ok() && leases != nullptr && after != nullptr) {
                after(leases, *call, request, messages->response);
              }
              done(status);
            });
          },
          /*long_running=*/true};
}

// As Forward; a repeated request is answered without another call of the master.
template <typename Request, typename Response>
ServerMethod ForwardOnce(absl::string_view name, MasterInterface* master, ClientLeases* leases,
                         absl::Status (MasterInterface::*method)(const CallOptions&, const Request&, Response*),
                         RepeatedRequests* requests) {
  return {Path(name),
          [=, name = std::string(name)](ServerCall* call) {
            Request request;
            if (absl::Status status = MessageFromBuffer(call->request(), &request); !status.ok()) {
              return call->Fail(status);
            }
            const auto run = [&](const CallOptions& options) -> absl::StatusOr<grpc::ByteBuffer> {
              Response response;
              RETURN_IF_ERROR(OrOutOfMemory([&] { return (master->*method)(options, request, &response); }));
              return MessageToBuffer(response);
            };
            const auto answer = InSession(leases, *call, request.session_handle(), [&] {
              return requests->RunOnce(request.request_id(), name, call->options(), run);
            });
            answer.ok() ? call->Finish(*answer) : call->Fail(answer.status());
          },
          /*long_running=*/true};
}

void Created(ClientLeases* leases, const ServerCall& call, const tensorflow::CreateSessionRequest&,
             const tensorflow::CreateSessionResponse& response) {
  leases->Add(response.session_handle(), call.connection());
}

void Closed(ClientLeases* leases, const ServerCall&, const tensorflow::CloseSessionRequest& request,
            const tensorflow::CloseSessionResponse&) {
  leases->Remove(request.session_handle());
}

// For methods that wait for steps or for other tasks.
ServerMethod Blocking(ServerMethod method) {
  method.blocks = true;
  return method;
}

// For those among them that end steps, and so free threads, or show what is there.
ServerMethod Reserved(ServerMethod method) {
  method.reserved = true;
  return method;
}

}  // namespace

GrpcMasterService::GrpcMasterService(MasterInterface* master, ClientLeases* leases, RequestLog* log,
                                     Allocator* allocator)
    : master_(master), leases_(leases), allocator_(allocator), requests_({.log = log}) {}

std::vector<ServerMethod> GrpcMasterService::Methods() {
  return {
      Blocking(Forward("CreateSession", master_, leases_, &MasterInterface::CreateSession, Created)),
      Blocking(Forward("ExtendSession", master_, leases_, &MasterInterface::ExtendSession)),
      Blocking(ForwardOnce("PartialRunSetup", master_, leases_, &MasterInterface::PartialRunSetup, &requests_)),
      Blocking({Path("RunStep"), [this](ServerCall* call) { RunStep(call); }, /*long_running=*/true}),
      Reserved(Forward("CloseSession", master_, leases_, &MasterInterface::CloseSession, Closed)),
      Reserved(Forward("ListDevices", master_, leases_, &MasterInterface::ListDevices)),
      Reserved(Forward("Reset", master_, leases_, &MasterInterface::Reset)),
      Blocking(ForwardOnce("MakeCallable", master_, leases_, &MasterInterface::MakeCallable, &requests_)),
      Blocking({Path("RunCallable"), [this](ServerCall* call) { RunCallable(call); }, /*long_running=*/true}),
      Forward("ReleaseCallable", master_, leases_, &MasterInterface::ReleaseCallable),
  };
}

void GrpcMasterService::RunStep(ServerCall* call) {
  absl::StatusOr<WireRunStep> wire = DecodeRunStepRequest(call->request(), allocator_);
  if (!wire.ok()) return call->Fail(wire.status());
  const auto run = [&](const CallOptions& options) -> absl::StatusOr<grpc::ByteBuffer> {
    ASSIGN_OR_RETURN(const RunStepResult result, OrOutOfMemory([&] { return master_->RunStep(options, wire->args); }));
    return EncodeRunStepResponse(result, wire->args.fetches);
  };
  const absl::StatusOr<grpc::ByteBuffer> response = InSession(leases_, *call, wire->args.session_handle, [&] {
    return requests_.RunOnce(wire->args.request_id, "RunStep", call->options(), run);
  });
  if (response.ok()) return call->Finish(*response);
  wire->store_errors_in_response_body ? call->FinishWithError(EncodeRunStepError(response.status()))
                                      : call->Fail(response.status());
}

void GrpcMasterService::RunCallable(ServerCall* call) {
  absl::StatusOr<RunCallableArgs> args = DecodeRunCallableRequest(call->request(), allocator_);
  if (!args.ok()) return call->Fail(args.status());
  const auto run = [&](const CallOptions& options) -> absl::StatusOr<grpc::ByteBuffer> {
    ASSIGN_OR_RETURN(const RunStepResult result, OrOutOfMemory([&] { return master_->RunCallable(options, *args); }));
    return EncodeRunCallableResponse(result);
  };
  const absl::StatusOr<grpc::ByteBuffer> response = InSession(leases_, *call, args->session_handle, [&] {
    return requests_.RunOnce(args->request_id, "RunCallable", call->options(), run);
  });
  response.ok() ? call->Finish(*response) : call->Fail(response.status());
}

}  // namespace weir
