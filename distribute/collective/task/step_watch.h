// Ends ops of a step that would wait in vain.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "core/mutex.h"
#include "core/rendezvous/collective.h"
#include "core/threads/cancellation.h"
#include "core/threads/timer_queue.h"
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
  // Fails if peers that have not fetched their messages never will.
  virtual void WatchReceivers() = 0;
  virtual void Cancel(const absl::Status& status) = 0;
};

// A leader may form a group again, after a restart of a peer, without a member noticing: the peers that the member
// waits for may themselves wait, at the leader, for it to rejoin. So the formations of long-running ops are checked
// once a second, and ops of one that was given up end with ABORTED. Their step does not rejoin: peers would mistake
// it for a member of their own steps. Thread-safe.
class StepWatch : public std::enable_shared_from_this<StepWatch> {
 public:
  // `task` outlives Stop; without timers nothing is watched.
  StepWatch(TaskCollectives* task, std::string leader) : task_(task), leader_(std::move(leader)) {}

  void Add(std::weak_ptr<WatchedOp> op);
  // The step has ended: stops watching and asking.
  void Stop();

 private:
  using Ops = std::vector<std::shared_ptr<WatchedOp>>;

  Ops Alive() REQUIRES(mu_);
  void ScheduleLook() REQUIRES(mu_);
  void Look();
  void Check(const WatchedOp& op, const std::shared_ptr<const FormedGroup>& group);
  void GivenUp(const FormedGroup& group);

  TaskCollectives* const task_;
  const std::string leader_;
  CancellationManager cancellation_;  // of requests to the leader
  Mutex mu_;
  bool stopped_ GUARDED_BY(mu_) = false;
  std::optional<TimerQueue::Token> timer_ GUARDED_BY(mu_);
  std::vector<std::weak_ptr<WatchedOp>> ops_ GUARDED_BY(mu_);
  size_t next_sweep_ GUARDED_BY(mu_) = 64;               // ended ops are dropped when this many are known
  absl::flat_hash_set<uint64_t> asked_ GUARDED_BY(mu_);  // formations that are being checked
};

}  // namespace weir
