#include "distribute/transport/membership/membership_service.h"

#include <algorithm>
#include <utility>

#include "core/clock.h"
#include "distribute/transport/membership/membership_client.h"
#include "distribute/transport/message_method.h"

namespace weir {
namespace {

constexpr absl::Duration kPassOnTimeout = absl::Seconds(10);

}  // namespace

template <typename Request, typename Response>
ServerMethod MembershipService::Method(const char* path, absl::Status (Registrar::*serve)(const Request&, Response*)) {
  ServerMethod method{
      path,
      [this, path, serve](ServerCall* call) {
        ServeMessage<Request, Response>(call, [&](const CallOptions& options, auto messages, auto done) {
          if (registrar_ != nullptr) return done((registrar_->*serve)(messages->request, &messages->response));
          if (messages->request.passed_on()) {
            return done(errors::FailedPrecondition("Task ", membership_->task(), " is not the cluster's registrar"));
          }
          messages->request.set_passed_on(true);
          done(PassOn(path, options, messages->request, &messages->response));
        });
      },
      /*long_running=*/true};
  method.blocks = true;
  return method;
}

std::vector<ServerMethod> MembershipService::Methods() {
  ServerMethod view{kGetViewMethod, [this](ServerCall* call) {
                      ServeMessage<GetViewRequest, GetViewResponse>(
                          call, [this](const CallOptions&, auto messages, auto done) {
                            if (registrar_ != nullptr && messages->request.has_known()) {
                              registrar_->Hear(messages->request.known());
                            }
                            *messages->response.mutable_view() = membership_->Get()->view;
                            done(absl::OkStatus());
                          });
                    }};
  ServerMethod hold{kHoldStateMethod,
                    [this](ServerCall* call) {
                      ServeMessage<HoldStateRequest, HoldStateResponse>(
                          call, [this](const CallOptions& options, auto messages, auto done) {
                            done(WithOrigin(HoldState(options, messages->request), {.task = membership_->task()}));
                          });
                    },
                    /*long_running=*/true};
  hold.blocks = true;
  ServerMethod list{kListStateMethod,
                    [this](ServerCall* call) {
                      ServeMessage<ListStateRequest, ListStateResponse>(
                          call, [this](const CallOptions&, auto messages, auto done) {
                            host_->ListState(&messages->response);
                            done(absl::OkStatus());
                          });
                    },
                    /*long_running=*/true};
  list.blocks = true;  // it goes through the graphs of all sessions
  return {std::move(view),
          std::move(hold),
          std::move(list),
          Method(kJoinMethod, &Registrar::Join),
          Method(kDrainMethod, &Registrar::Drain),
          Method(kLeaveMethod, &Registrar::Leave),
          Method(kMoveStateMethod, &Registrar::MoveState)};
}

absl::Status MembershipService::HoldState(const CallOptions& options, const HoldStateRequest& request) {
  RETURN_IF_ERROR(membership_->Adopt(request.view()).status());
  const int64_t known = membership_->Get()->state.move_epoch();
  if (known == 0 || known != request.view().move().epoch()) {
    return errors::FailedPrecondition("The move of epoch ", request.view().move().epoch(), " is not in progress");
  }
  // The answer, which says what still runs, must come before the caller gives up.
  const absl::Duration left = std::min(options.deadline - MonotonicNow(), kPassOnTimeout);
  const absl::Time deadline = MonotonicNow() + left * 0.9;
  return request.fence() ? host_->FenceSteps(deadline) : host_->HoldSteps(deadline);
}

absl::Status MembershipService::PassOn(const char* path, const CallOptions& options,
                                       const google::protobuf::MessageLite& request,
                                       google::protobuf::MessageLite* response) {
  const std::string registrar = membership_->Get()->view.registrar();
  absl::StatusOr<std::shared_ptr<GrpcChannel>> channel = channels_.To(registrar);
  if (!channel.ok()) return Annotate(channel.status(), "Looking for the cluster's registrar");
  CallOptions call = options;
  call.deadline = std::min(call.deadline, MonotonicNow() + kPassOnTimeout);
  return (*channel)->CallMessage(path, call, request, response);
}

}  // namespace weir
