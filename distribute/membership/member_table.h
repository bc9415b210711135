// Decides who is a member of a cluster.
#pragma once

#include <string>

#include "absl/container/btree_map.h"
#include "absl/time/time.h"
#include "core/status.h"
#include "distribute/membership/cluster_view.h"

namespace weir {

// The registrar's state machine: each change makes a view of a greater epoch. Times are those of one monotonic clock.
// Not thread-safe.
class MemberTable {
 public:
  struct Options {
    uint64_t registrar_incarnation = 0;  // of this process
    // A member that joined is removed when it has not answered for this long, and a process that has not begun to serve
    // when this time is over.
    absl::Duration lease = absl::Seconds(30);
    // A process may take the name of a member that has not answered for this long.
    absl::Duration silence = absl::Seconds(3);
    // A move of variables that has not ended by then is cancelled: steps wait for it.
    absl::Duration move_limit = absl::Seconds(10);
    // The standby of a member that has not answered for this long takes over.
    absl::Duration standby_patience = absl::Seconds(2);
    // A member that could not be reached this many times in turn is lost, too.
    int standby_attempts = 2;
  };
  // Members are taken to have answered at `now`.
  MemberTable(const Options& options, ClusterView view, absl::Time now);

  const ClusterView& view() const { return view_; }
  bool has_changed() const { return view_.epoch() > 0; }  // since the cluster was started

  // The new member, or the one that it already is. ALREADY_EXISTS if a member that answers has its name or address,
  // INVALID_ARGUMENT for malformed names and addresses, FAILED_PRECONDITION for a process that was removed by request.
  absl::StatusOr<Member> Join(const JoinRequest& request, absl::Time now);
  // NOT_FOUND, which lists the members, if there is no such task.
  absl::Status Drain(const DrainRequest& request);
  // FAILED_PRECONDITION for the registrar itself. A task that is not a member, or is another process by now, has left.
  absl::Status Leave(const LeaveRequest& request);

  // See state_moves.h.
  absl::Status MoveState(const MoveStateRequest& request, absl::Time now);
  // True if a move was in progress for too long, and is cancelled.
  bool CancelLateMove(absl::Time now);

  // `incarnation` is that of its process; 0: unknown.
  void Answered(absl::string_view task, absl::Time now, uint64_t incarnation = 0);
  // Another task could not reach the member: one failure more, and it is lost.
  void Suspect(absl::string_view task);
  // Nothing serves at the member's address.
  void NotReached(absl::string_view task);
  // Ends relations of standbys and tasks that are lost, or have restarted. Returns what happened, in words.
  std::vector<std::string> FailOverLost(absl::Time now);
  // Removes members whose lease is over. Returns their names.
  std::vector<std::string> RemoveLost(absl::Time now);
  // `known` is what another task knows. If it is newer, this registrar has restarted and goes on from it.
  void Reconcile(const ClusterView& known, absl::Time now);

 private:
  Member* Find(absl::string_view task);
  // The member that has the address; null: none.
  Member* AtAddress(absl::string_view address);
  absl::Duration SilenceOf(const std::string& task, absl::Time now) const;
  // Whether a process at the address may take the member's place.
  absl::Status CheckReplaceable(const Member& member, const std::string& address, absl::Time now) const;
  bool HasSuccessor(const std::string& task) const;
  bool Serves(const std::string& task, absl::Time now) const;
  // Whether the process has ended, with what it held; `incarnation` is what it was when it stood by or was stood by
  // for.
  bool IsGone(const std::string& task, uint64_t incarnation, absl::Time now) const;
  // The same, or it does not answer.
  bool IsLost(const std::string& task, uint64_t incarnation, absl::Time now) const;
  absl::StatusOr<StateMove> WithIncarnations(const StateMove& move) const;
  void Remove(const std::string& task);
  void Changed();
  std::string Members() const;

  const Options options_;
  ClusterView view_;
  struct Process {
    absl::Time answered;
    uint64_t incarnation = 0;  // 0: unknown
    int failures = 0;          // since the last answer
  };
  absl::btree_map<std::string, Process> processes_;  // by task
  absl::Time move_began_ = absl::InfinitePast();     // that of the view
};

}  // namespace weir
