// Sees to it that the ops of a step do not wait in vain.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "core/cancellation.h"
#include "core/collective.h"
#include "core/mutex.h"
#include "core/timer_queue.h"
#include "distribute/collective/collective_group.h"

namespace weir {

class TaskCollectives;

// A collective of this task that may wait for peers.
class WatchedOp {
 public:
  virtual ~WatchedOp() = default;
  // Null before it is known, and after the end.
  virtual std::shared_ptr<const FormedGroup> Group() const = 0;
  virtual const CollectiveParams& params() const = 0;
  virtual const Device& device() const = 0;
  // Fails if peers that have not taken what they are to get will not come for it any more.
  virtual void WatchReceivers() = 0;
  virtual void Cancel(const absl::Status& status) = 0;
};

// A member can have a group that the leader has formed anew, as when a peer was restarted, and hear nothing of it: the
// peers that it waits for may wait for it in turn, at the leader, to join again. So ops that last are looked at once a
// second: their groups are asked for again, which joins where the group is forming, and those whose group is another
// one now end with ABORTED. Thread-safe.
class StepWatch : public std::enable_shared_from_this<StepWatch> {
 public:
  // `task` outlives Stop; without timers nothing is watched.
  StepWatch(TaskCollectives* task, std::string leader) : task_(task), leader_(std::move(leader)) {}

  void Add(std::weak_ptr<WatchedOp> op);
  // Nothing is looked at, nor asked for, any more. The step has ended.
  void Stop();

 private:
  using Ops = std::vector<std::shared_ptr<WatchedOp>>;

  Ops Alive() REQUIRES(mu_);
  void ScheduleLook() REQUIRES(mu_);
  void Look();
  void AskAgain(const WatchedOp& op, const std::shared_ptr<const FormedGroup>& group);
  // The leader says what the group that has been `group` is now.
  void Compare(const FormedGroup& group, const absl::StatusOr<std::shared_ptr<const FormedGroup>>& now);

  TaskCollectives* const task_;
  const std::string leader_;
  CancellationManager cancellation_;  // of what is asked
  Mutex mu_;
  bool stopped_ GUARDED_BY(mu_) = false;
  std::optional<TimerQueue::Token> timer_ GUARDED_BY(mu_);
  std::vector<std::weak_ptr<WatchedOp>> ops_ GUARDED_BY(mu_);
  size_t next_sweep_ GUARDED_BY(mu_) = 64;  // when so many ops are known, those that have ended are dropped
  absl::flat_hash_set<uint64_t> asked_ GUARDED_BY(mu_);  // formations whose groups are being asked for
};

}  // namespace weir
