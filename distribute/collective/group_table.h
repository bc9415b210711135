// What the leader of a cluster's collectives knows: who has joined which group.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "core/mutex.h"
#include "core/timer_queue.h"
#include "distribute/collective/waiting_call.h"
#include "distribute/transport/worker_interface.h"

namespace weir {

// Thread-safe. No call blocks. `done` runs exactly once, with no lock held. A group is formed when as many devices have
// joined as it is to have, and stays for later calls of its members. A member that comes back with another incarnation
// starts the group anew. Of many groups those that nobody has joined for the longest time are forgotten: their members
// form them again.
class GroupTable {
 public:
  using DoneCallback = std::function<void(absl::Status)>;
  struct Options {
    std::function<std::vector<std::string>()> tasks;  // of the cluster, whose devices alone may join; null: any may
    TimerQueue* timers = nullptr;                     // outlives the table
    // A member of that formation has come back: what its members have agreed on is void. With no lock held.
    std::function<void(const std::string& formation, const absl::Status& status)> on_reset;
    size_t max_groups = 4096;
  };
  struct Membership {
    int rank = 0, size = 0;
    std::string formation;
  };

  explicit GroupTable(Options options) : options_(std::move(options)) {}

  // `response` lives until `done`. Ends before the deadline with DEADLINE_EXCEEDED that names who has joined and who is
  // missing.
  void Join(const CallOptions& options, const JoinGroupRequest& request, JoinGroupResponse* response,
            DoneCallback done);
  // Of a group that is formed; nullopt: the device is not of it, or there is no such group.
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
    JoinGroupResponse formed;                           // group_size is 0 until then
    int64_t last_call = 0;
    bool is_formed() const { return formed.group().group_size() > 0; }
  };

  absl::Status CheckRequest(const JoinGroupRequest& request) const;
  // What calls of an earlier life of the device get, if it comes back. A group that was formed begins anew.
  GroupAnswer ResetIfRestarted(const tensorflow::CompleteGroupRequest& request, std::string* void_formation)
      REQUIRES(mu_);
  absl::StatusOr<Group*> FindOrBegin(const tensorflow::CompleteGroupRequest& request) REQUIRES(mu_);
  absl::Status CheckFits(const Group& group, const tensorflow::CompleteGroupRequest& request) const REQUIRES(mu_);
  // Waiters are answered, `waiter` among them, unless it waits from now on.
  std::optional<GroupAnswer> Admit(const CallOptions& options, const JoinGroupRequest& joining, GroupWaiter waiter)
      REQUIRES(mu_);
  absl::Status Form(int32_t key, Group& group) REQUIRES(mu_);
  static std::vector<GroupWaiter> TakeWaiters(Group& group);
  // The wait is over for one of them; it has not joined any more.
  void GiveUp(int32_t key, int64_t waiter, const std::optional<absl::Status>& cancelled);
  std::string Missing(const Group& group) const REQUIRES(mu_);

  const Options options_;
  mutable Mutex mu_;
  int64_t num_calls_ GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<int32_t, Group> groups_ GUARDED_BY(mu_);
};

}  // namespace weir
