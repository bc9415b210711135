// What the leader of a cluster's collectives knows: who has joined which group.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "core/mutex.h"
#include "core/timer_queue.h"
#include "distribute/transport/worker_interface.h"

namespace weir {

// Thread-safe. No call blocks. `done` runs exactly once, with no lock held. A group is formed when as many devices have
// joined as it is to have, and stays for later calls of its members. A member that comes back with another incarnation
// starts the group anew.
class GroupTable {
 public:
  using DoneCallback = std::function<void(absl::Status)>;
  struct Options {
    std::function<std::vector<std::string>()> tasks;  // of the cluster, for messages; may be empty
    TimerQueue* timers = nullptr;                     // outlives the table
  };

  explicit GroupTable(Options options) : options_(std::move(options)) {}

  // `response` lives until `done`. Ends before the deadline with DEADLINE_EXCEEDED that names who has joined and who is
  // missing.
  void Join(const CallOptions& options, const tensorflow::CompleteGroupRequest& request,
            tensorflow::CompleteGroupResponse* response, DoneCallback done);
  // Of a group that is formed; -1: the device is not of it, or there is no such group.
  int RankOf(int32_t group_key, const std::string& device) const;
  int SizeOf(int32_t group_key) const;  // 0: not formed

 private:
  struct Waiter {
    std::string device;
    tensorflow::CompleteGroupResponse* response = nullptr;
    DoneCallback done;
    CancellationManager* cancellation = nullptr;
    CancellationManager::Token token = CancellationManager::kInvalidToken;
    bool has_timer = false;
    TimerQueue::Token timer;
  };
  struct Group {
    int32_t size = 0;
    std::string device_type;
    absl::btree_map<std::string, tensorflow::DeviceAttributes> joined;  // by device
    absl::flat_hash_map<int64_t, Waiter> waiters;
    tensorflow::CompleteGroupResponse formed;  // group_size is 0 until then
    bool is_formed() const { return formed.group_size() > 0; }
  };
  using Waiters = std::vector<Waiter>;

  absl::Status Check(const Group& group, const tensorflow::CompleteGroupRequest& request) const REQUIRES(mu_);
  absl::Status Form(int32_t key, Group& group) REQUIRES(mu_);
  static Waiters TakeWaiters(Group& group);
  void Answer(Waiters waiters, const absl::Status& status, const tensorflow::CompleteGroupResponse& response);
  // The wait is over for one of them; it has not joined any more.
  void GiveUp(int32_t key, int64_t waiter, bool is_late, const absl::Status& status);
  std::string Missing(const Group& group) const REQUIRES(mu_);

  const Options options_;
  mutable Mutex mu_;
  int64_t next_waiter_ GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<int32_t, Group> groups_ GUARDED_BY(mu_);
};

}  // namespace weir
