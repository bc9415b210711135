// Keeps the membership of a cluster.
#pragma once

#include <condition_variable>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "core/mutex.h"
#include "core/threads/cancellation.h"
#include "distribute/membership/cluster_membership.h"
#include "distribute/membership/member_table.h"
#include "distribute/transport/worker_interface.h"

namespace weir {

// Runs in the task that makes changes. Tells each view to all members, and removes those that joined and do not answer
// any more. If this process has restarted, it learns from the others what it knew; until then changes are UNAVAILABLE.
// Costs nothing while no task has joined or left since the cluster was started. Thread-safe. Owns one thread.
class Registrar {
 public:
  struct Options {
    ClusterMembership* membership = nullptr;  // of this task; outlives this
    WorkerPool* workers = nullptr;            // follows `membership`; outlives this
    MemberTable::Options table;
    absl::Duration interval = absl::Seconds(1);        // between questions to all members
    absl::Duration answer_timeout = absl::Seconds(2);  // for a member's answer
    // For the members' first answers after a start: longer than ClusterJoin::Options::check_interval, after which tasks
    // of which this process does not know yet have called.
    absl::Duration settle_timeout = absl::Seconds(3);
    absl::Duration retry = absl::Milliseconds(200);  // of the first question
    // While tasks stand by for others: between questions, and for an answer.
    absl::Duration standby_interval = absl::Milliseconds(200);
    absl::Duration standby_timeout = absl::Seconds(1);
    uint64_t task_incarnation = 0;  // of this process, as other tasks see it: that of its first device
  };

  explicit Registrar(Options options);
  ~Registrar() { Stop(); }
  Registrar(const Registrar&) = delete;

  // See membership.proto and MemberTable. They ask members, and block until these have answered or the timeout is over.
  absl::Status Join(const JoinRequest& request, JoinResponse* response);
  absl::Status Drain(const DrainRequest& request, DrainResponse* response);
  absl::Status Leave(const LeaveRequest& request, LeaveResponse* response);
  absl::Status MoveState(const MoveStateRequest& request, MoveStateResponse* response);

  // Learns from the view of a task that has asked for this one's. Malformed views are ignored.
  void Hear(const ClusterView& known);

  // Ends the questions; later calls are UNAVAILABLE.
  void Stop();

 private:
  // Drain and Leave.
  template <typename Request, typename Response>
  absl::Status Change(absl::Status (MemberTable::*change)(const Request&), const Request& request, Response* response);
  struct Question;
  void Ask(std::deque<Question>* questions);
  void Loop();
  // Tells all members the view, and learns who answers. True if there are some, and all did.
  bool Exchange();
  // Standbys take over from tasks that are lost. True if there were some.
  bool FailOver();
  // A task says that it cannot reach this one.
  void CheckLost(const std::string& task);
  // Cancels a move that was in progress for too long.
  void CancelLateMove();
  // A move was cancelled: the tasks that have its variables hear of it before masters send steps again.
  void Unfence(const ClusterView& before);
  // The task's own view follows the table's.
  void Publish() REQUIRES(mu_);
  void Reconcile(const std::string& task, const ClusterView& known) REQUIRES(mu_);
  absl::Status CheckSettled() const REQUIRES(mu_);

  const Options options_;
  CancellationManager cancellation_;
  mutable Mutex mu_;
  std::condition_variable changed_;
  MemberTable table_ GUARDED_BY(mu_);
  absl::flat_hash_set<std::string> strangers_ GUARDED_BY(mu_);  // tasks of another cluster definition, once warned of
  bool settled_ GUARDED_BY(mu_) = false;
  bool stopping_ GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace weir
