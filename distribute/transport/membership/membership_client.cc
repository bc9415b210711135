#include "distribute/transport/membership/membership_client.h"

#include <utility>

#include "core/clock.h"
#include "core/threads/cancellable_sleep.h"

namespace weir {
namespace {

constexpr absl::Duration kRetryPause = absl::Milliseconds(200);
// A name stays with a member that was stopped for some seconds.
constexpr absl::Duration kTakenAtFirst = absl::Seconds(8);

// Repeats the call until the deadline while it fails in a way that passes.
template <typename Request, typename Response, typename MayPass>
absl::Status CallUntilDone(GrpcChannel& channel, const char* method, const CallOptions& options, const Request& request,
                           Response* response, MayPass may_pass) {
  while (true) {
    absl::Status status = channel.CallMessage(method, options, request, response);
    const absl::Time next = MonotonicNow() + kRetryPause;
    if (status.ok() || !may_pass(status) || next > options.deadline) return status;
    RETURN_IF_ERROR(SleepUntil(next, options.cancellation));
  }
}

template <typename Response, typename Request>
absl::StatusOr<ClusterView> Change(GrpcChannel& channel, const char* method, const CallOptions& options,
                                   const Request& request) {
  Response response;
  RETURN_IF_ERROR(CallUntilDone(channel, method, options, request, &response, absl::IsUnavailable));
  return std::move(*response.mutable_view());
}

}  // namespace

absl::StatusOr<ClusterView> MembershipClient::GetView(const CallOptions& options, const ClusterView* known) {
  GetViewRequest request;
  if (known != nullptr) *request.mutable_known() = *known;
  GetViewResponse response;
  RETURN_IF_ERROR(channel_.CallMessage(kGetViewMethod, options, request, &response));
  return std::move(*response.mutable_view());
}

absl::StatusOr<JoinResponse> MembershipClient::Join(const CallOptions& options, const JoinRequest& request) {
  JoinResponse response;
  const absl::Time taken_until = MonotonicNow() + kTakenAtFirst;
  RETURN_IF_ERROR(CallUntilDone(channel_, kJoinMethod, options, request, &response, [&](const absl::Status& status) {
    return absl::IsUnavailable(status) || (absl::IsAlreadyExists(status) && MonotonicNow() < taken_until);
  }));
  return response;
}

absl::StatusOr<ClusterView> MembershipClient::Drain(const CallOptions& options, const std::string& task, bool undo,
                                                    const std::string& successor) {
  DrainRequest request;
  request.set_successor(successor);
  request.set_task(task);
  request.set_undo(undo);
  return Change<DrainResponse>(channel_, kDrainMethod, options, request);
}

absl::StatusOr<ClusterView> MembershipClient::Leave(const CallOptions& options, const std::string& task,
                                                    uint64_t incarnation) {
  LeaveRequest request;
  request.set_task(task);
  request.set_incarnation(incarnation);
  return Change<LeaveResponse>(channel_, kLeaveMethod, options, request);
}

absl::StatusOr<ClusterView> MembershipClient::MoveState(const CallOptions& options, const MoveStateRequest& request) {
  return Change<MoveStateResponse>(channel_, kMoveStateMethod, options, request);
}

absl::Status MembershipClient::HoldState(const CallOptions& options, const ClusterView& view, bool fence) {
  HoldStateRequest request;
  *request.mutable_view() = view;
  request.set_fence(fence);
  HoldStateResponse response;
  return channel_.CallMessage(kHoldStateMethod, options, request, &response);
}

absl::StatusOr<ListStateResponse> MembershipClient::ListState(const CallOptions& options) {
  ListStateResponse response;
  RETURN_IF_ERROR(channel_.CallMessage(kListStateMethod, options, ListStateRequest(), &response));
  return response;
}

}  // namespace weir
