// Ends waits that nobody alive can end.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/mutex.h"
#include "core/threads/cancellation.h"
#include "kernels/device/resource_users.h"
#include "worker/master_watch.h"

namespace weir {

// Watches kernels that wait at a queue, accumulator, barrier, staging area or mutex of this task. Owns one thread.
// - A wait that has lasted for `slow` fails if a session that used the object is lost and no other session can end the
//   wait. The error, UNAVAILABLE, names the node, the object and the lost task.
// - A session is lost if its master's task refuses two connections in a row, does not answer within `answer_timeout`,
//   or has restarted and not used the object since. A session that was closed is not lost.
// - A session can end a wait if it has a step here that does not wait so itself, or has used the object within `idle`:
//   its client may be between two steps.
// - Destruction cancels the calls under way and waits for them.
class WaitWatch {
 public:
  struct Options {
    absl::Duration slow = absl::Seconds(1);
    absl::Duration interval = absl::Seconds(1);
    absl::Duration answer_timeout = absl::Seconds(5);
    absl::Duration idle = absl::Seconds(30);
    std::string local_task;
    std::function<absl::StatusOr<std::shared_ptr<WorkerInterface>>(absl::string_view task)> find;
    // The users of objects on each device.
    std::function<std::vector<std::shared_ptr<ResourceUsers>>()> users;
    // The master of an open session; nullopt: it is not open.
    std::function<std::optional<MasterWatch::Master>(const std::string& session)> master_of;
    // The open sessions of a task's master.
    std::function<absl::flat_hash_set<std::string>(const std::string& task)> sessions_of;
    // The steps of a session that run here.
    std::function<std::vector<int64_t>(const std::string& session)> steps_of;
    std::function<void(const std::string& session, int64_t step_id, const absl::Status& reason)> fail;
  };

  explicit WaitWatch(Options options);
  ~WaitWatch();
  WaitWatch(const WaitWatch&) = delete;

  // The session has ended because its master is gone; `reason` is a clause.
  void SessionIsLost(const std::string& session, const MasterWatch::Master& master, const std::string& reason);
  // A session was opened, perhaps again.
  void SessionIsOpen(const std::string& session);

 private:
  struct Lost {
    std::string task, reason;
  };
  struct Question;
  using Waits = std::vector<ResourceUsers::Wait>;
  using LostSessions = absl::flat_hash_map<std::string, Lost>;

  void Loop();
  // False: the watch is being destroyed. *asks: it is time to ask the masters again, not only to judge their answers.
  bool AwaitNextLook(absl::Time next, bool* asks);
  void Look(bool asks);
  Waits SlowWaits() const;
  // Returns the lost sessions that have no successor. Those lost later in a look are the next one's: their
  // successors may have used the objects before.
  LostSessions ForgetSucceeded();
  void AskMasters(const Waits& waits);
  void Ask(const MasterWatch::Master& master);
  void Learn(const Question& question, const absl::Status& status);
  // nullopt: its master may be alive.
  std::optional<Lost> LossOf(const std::string& session, const LostSessions& lost) const;
  // Fails the waits that concern a lost session.
  void Judge(const Waits& waits, const LostSessions& lost);
  bool CanEnd(const ResourceUsers::Wait& wait, const ResourceUsers::User& user,
              const absl::flat_hash_set<int64_t>& waiting) const;

  const Options options_;
  CancellationManager cancellation_;
  mutable Mutex mu_;
  std::condition_variable changed_;
  bool stopping_ GUARDED_BY(mu_) = false;
  bool has_found_dead_ GUARDED_BY(mu_) = false;  // since the last look
  LostSessions lost_sessions_ GUARDED_BY(mu_);
  // Of masters that concern a slow wait: how often in a row they refused connections, and why they count as dead.
  absl::flat_hash_map<MasterWatch::Master, int> refusals_ GUARDED_BY(mu_);
  absl::flat_hash_map<MasterWatch::Master, std::string> dead_ GUARDED_BY(mu_);
  absl::flat_hash_set<MasterWatch::Master> asked_ GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace weir
