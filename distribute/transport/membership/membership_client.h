// Calls to a cluster about its tasks.
#pragma once

#include <string>

#include "absl/time/time.h"
#include "core/status.h"
#include "core/threads/cancellation.h"
#include "distribute/transport/grpc_channel.h"
#include "weir/membership.pb.h"

namespace weir {

inline constexpr char kGetViewMethod[] = "/weir.MembershipService/GetView";
inline constexpr char kJoinMethod[] = "/weir.MembershipService/Join";
inline constexpr char kDrainMethod[] = "/weir.MembershipService/Drain";
inline constexpr char kLeaveMethod[] = "/weir.MembershipService/Leave";
inline constexpr char kMoveStateMethod[] = "/weir.MembershipService/MoveState";
inline constexpr char kHoldStateMethod[] = "/weir.MembershipService/HoldState";
inline constexpr char kListStateMethod[] = "/weir.MembershipService/ListState";

// Reaches a cluster through any of its tasks. Calls block; changes are repeated until the deadline while the task or
// the registrar cannot be reached. UNIMPLEMENTED from a task of another runtime. Thread-safe.
class MembershipClient {
 public:
  explicit MembershipClient(const std::string& address) : channel_({.address = address}, nullptr) {}

  // `known`, if any, is the caller's own view, which a registrar that has restarted learns from.
  absl::StatusOr<ClusterView> GetView(const CallOptions& options, const ClusterView* known = nullptr);
  // Also repeated while a process that has just ended may still have the name.
  absl::StatusOr<JoinResponse> Join(const CallOptions& options, const JoinRequest& request);
  // `successor`: on which nodes that name the task run from now on; empty: as before.
  absl::StatusOr<ClusterView> Drain(const CallOptions& options, const std::string& task, bool undo = false,
                                    const std::string& successor = "");
  // `incarnation` 0: whichever process has the name.
  absl::StatusOr<ClusterView> Leave(const CallOptions& options, const std::string& task, uint64_t incarnation = 0);
  // A move that began although its answer was lost is cancelled in time: until then the repeated call is
  // FAILED_PRECONDITION.
  absl::StatusOr<ClusterView> MoveState(const CallOptions& options, const MoveStateRequest& request);
  // Of the task itself.
  absl::Status HoldState(const CallOptions& options, const ClusterView& view, bool fence);
  absl::StatusOr<ListStateResponse> ListState(const CallOptions& options);

 private:
  GrpcChannel channel_;
};

}  // namespace weir
