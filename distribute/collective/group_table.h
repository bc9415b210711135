// The leader's table of groups and their members.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "core/mutex.h"
#include "core/threads/timer_queue.h"
#include "distribute/collective/waiting_call.h"
#include "distribute/transport/worker_interface.h"

namespace weir {

// Thread-safe. No call blocks. `done` runs exactly once, with no lock held.
// - A group forms when as many devices have joined as it has members, and stays for later calls of its members.
// - A member that returns with another incarnation, or says that the formation is void, dissolves the group, which then
//   forms again.
// - If there are too many groups, those unused for longest are dropped; their members form them again.
class GroupTable {
 public:
  using DoneCallback = std::function<void(absl::Status)>;
  struct Options {
    std::function<std::vector<std::string>()> tasks;  // of the cluster; only their devices may join; null: any may
    TimerQueue* timers = nullptr;                     // outlives the table
    // Called, with no lock held, when a member dissolves that formation: what its members agreed on is void.
    std::function<void(const std::string& formation, const absl::Status& status)> on_reset;
    size_t max_groups = 4096;
  };
  struct Membership {
    int rank = 0, size = 0;
    std::string formation;
  };

  explicit GroupTable(Options options) : options_(std::move(options)) {}

  // `response` lives until `done`. Shortly before the deadline it ends with DEADLINE_EXCEEDED, which names the joined
  // and the missing members. A request with a checked_formation is answered at once.
  void Join(const CallOptions& options, const JoinGroupRequest& request, JoinGroupResponse* response,
            DoneCallback done);
  // For a formed group; nullopt: there is no such group, or the device is not a member.
  std::optional<Membership> Find(int32_t group_key, const std::string& device) const;
  std::string FormationOf(int32_t group_key) const;  // empty: not formed

 private:
  using GroupWaiter = Waiter<JoinGroupResponse>;
  using GroupAnswer = Answer<JoinGroupResponse>;
  struct Joined {
    tensorflow::DeviceAttributes device;
    GroupMember member;
  };
  struct Group {
    int32_t size = 0;
    std::string device_type;
    absl::btree_map<std::string, Joined> joined;        // by device
    absl::flat_hash_map<int64_t, GroupWaiter> waiters;  // by id
    JoinGroupResponse formed;                           // group_size is 0 until it has formed
    int64_t last_call = 0;
    bool is_formed() const { return formed.group().group_size() > 0; }
  };

  absl::Status CheckRequest(const JoinGroupRequest& request) const;
  // ABORTED if the group is formed anew, or being formed anew.
  absl::Status CheckFormation(const JoinGroupRequest& request);
  // Returns the answer for calls of a restarted device's earlier incarnation. A formed group starts again.
  GroupAnswer ResetIfRestarted(const tensorflow::CompleteGroupRequest& request, std::string* void_formation)
      REQUIRES(mu_);
  // Of a member that calls the present formation void; returns why, with the formation.
  absl::Status ResetIfVoid(const JoinGroupRequest& joining, std::string* void_formation) REQUIRES(mu_);
  absl::StatusOr<Group*> FindOrBegin(const tensorflow::CompleteGroupRequest& request) REQUIRES(mu_);
  absl::Status CheckFits(const Group& group, const tensorflow::CompleteGroupRequest& request) const REQUIRES(mu_);
  // Answers waiters, including `waiter`; nullopt if `waiter` has to wait.
  std::optional<GroupAnswer> Admit(const CallOptions& options, const JoinGroupRequest& joining, GroupWaiter waiter)
      REQUIRES(mu_);
  absl::Status Form(int32_t key, Group& group) REQUIRES(mu_);
  static std::vector<GroupWaiter> TakeWaiters(Group& group);
  // Ends the wait of one member, which has then not joined.
  void GiveUp(int32_t key, int64_t waiter, const std::optional<absl::Status>& cancelled);
  std::string Missing(const Group& group) const REQUIRES(mu_);

  const Options options_;
  mutable Mutex mu_;
  int64_t num_calls_ GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<int32_t, Group> groups_ GUARDED_BY(mu_);
};

}  // namespace weir
