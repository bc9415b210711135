#include "distribute/transport/grpc_master_service.h"

#include <string>
#include <utility>

#include "core/memory/out_of_memory.h"
#include "distribute/transport/message_codec.h"
#include "distribute/transport/message_method.h"

namespace weir {
namespace {

std::string Path(absl::string_view name) { return absl::StrCat("/tensorflow.MasterService/", name); }

// A method served by one call of the master. With `ids`, duplicate requests are rejected.
template <typename Request, typename Response>
ServerMethod Forward(absl::string_view name, MasterInterface* master,
                     absl::Status (MasterInterface::*method)(const CallOptions&, const Request&, Response*),
                     RecentRequestIds* ids = nullptr) {
  return {Path(name),
          [master, method, ids, name = std::string(name)](ServerCall* call) {
            ServeMessage<Request, Response>(call, [&](const CallOptions& options, auto messages, auto done) {
              if constexpr (requires { messages->request.request_id(); }) {
                if (ids != nullptr) {
                  if (absl::Status status = ids->TrackUnique(messages->request.request_id(), name); !status.ok()) {
                    return done(status);
                  }
                }
              }
              done(OrOutOfMemory([&] { return (master->*method)(options, messages->request, &messages->response); }));
            });
          },
          /*long_running=*/true};
}

// For methods that wait for steps or for other tasks. Methods that end steps are not among them: they free threads.
ServerMethod Blocking(ServerMethod method) {
  method.blocks = true;
  return method;
}

}  // namespace

GrpcMasterService::GrpcMasterService(MasterInterface* master, Allocator* allocator)
    : master_(master), allocator_(allocator) {}

std::vector<ServerMethod> GrpcMasterService::Methods() {
  return {
      Blocking(Forward("CreateSession", master_, &MasterInterface::CreateSession)),
      Forward("ExtendSession", master_, &MasterInterface::ExtendSession),
      Blocking(Forward("PartialRunSetup", master_, &MasterInterface::PartialRunSetup, &recent_ids_)),
      Blocking({Path("RunStep"), [this](ServerCall* call) { RunStep(call); }, /*long_running=*/true}),
      Forward("CloseSession", master_, &MasterInterface::CloseSession),
      Forward("ListDevices", master_, &MasterInterface::ListDevices),
      Forward("Reset", master_, &MasterInterface::Reset),
      Blocking(Forward("MakeCallable", master_, &MasterInterface::MakeCallable, &recent_ids_)),
      Blocking({Path("RunCallable"), [this](ServerCall* call) { RunCallable(call); }, /*long_running=*/true}),
      Forward("ReleaseCallable", master_, &MasterInterface::ReleaseCallable),
  };
}

void GrpcMasterService::RunStep(ServerCall* call) {
  absl::StatusOr<WireRunStep> wire = DecodeRunStepRequest(call->request(), allocator_);
  if (!wire.ok()) return call->Fail(wire.status());
  const auto run = [&]() -> absl::StatusOr<grpc::ByteBuffer> {
    RETURN_IF_ERROR(recent_ids_.TrackUnique(wire->args.request_id, "RunStep"));
    ASSIGN_OR_RETURN(const RunStepResult result,
                     OrOutOfMemory([&] { return master_->RunStep(call->options(), wire->args); }));
    return EncodeRunStepResponse(result, wire->args.fetches);
  };
  const absl::StatusOr<grpc::ByteBuffer> response = run();
  if (response.ok()) return call->Finish(*response);
  wire->store_errors_in_response_body ? call->Finish(EncodeRunStepError(response.status()))
                                      : call->Fail(response.status());
}

void GrpcMasterService::RunCallable(ServerCall* call) {
  const auto run = [&]() -> absl::StatusOr<grpc::ByteBuffer> {
    ASSIGN_OR_RETURN(const RunCallableArgs args, DecodeRunCallableRequest(call->request(), allocator_));
    RETURN_IF_ERROR(recent_ids_.TrackUnique(args.request_id, "RunCallable"));
    ASSIGN_OR_RETURN(const RunStepResult result,
                     OrOutOfMemory([&] { return master_->RunCallable(call->options(), args); }));
    return EncodeRunCallableResponse(result);
  };
  const absl::StatusOr<grpc::ByteBuffer> response = run();
  response.ok() ? call->Finish(*response) : call->Fail(response.status());
}

}  // namespace weir
