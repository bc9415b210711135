// The commit of steps in a simulated cluster: parameter servers, and workers with a master and a client each. In some
// schedules a parameter server has a master and a client too, tasks make their updates on two devices, coordinators
// remember few outcomes, or steps of the coordinator alone run beside a client's steps, so that outcomes are forgotten
// while tasks still ask for them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/simulation/virtual_network.h"

namespace weir {

// Mistakes that the simulator must find; each is planted in its drivers, not in the code under test.
enum class PlantedBug {
  kNone,
  kDecidesWithoutReady,    // the coordinator does not wait for one of the others
  kAbortsWhenReady,        // a participant that is ready aborts by itself
  kForgetsOutcomes,        // a new session clears what the coordinator has decided
  kForgottenIsAborted,     // ResolveStep answers "aborted" for a step whose outcome is no longer known
  kDeniesCommit,           // ResolveStep answers "aborted" for a committed step
  kRunsUpdatesTwice,       // the decision and the answer to a question run the updates, each
  kDropsUpdates,           // a cancellation after the decision drops the updates
  kUnreachableIsAborted,   // a participant takes an unreachable coordinator for an abort
  kCommitsAfterAbort,      // the coordinator decides for a commit although it has answered "aborted"
  kSkipsFence,             // the master does not fence unsettled steps
  kUnfencedSession,        // opening a session does not wait for steps of the master's earlier sessions
  kRepeatsWithoutReading,  // the client repeats a failed step without reading the global step
  kCleansUpOwnTransfers,   // the end of a step's transfers ends those between a task's devices too
  kCount,
};
const char* NameOf(PlantedBug bug);

struct Violation {
  std::string what;
  Micros time = 0;
};

// Runs one schedule, from its seed. Stops at the first violation.
class CommitWorld {
 public:
  CommitWorld(uint64_t seed, PlantedBug bug, bool prints);
  ~CommitWorld();

  // Empty if all invariants hold.
  std::vector<Violation> Run();
  int64_t steps() const { return steps_; }
  int64_t events() const { return events_; }
  // How many questions were answered by an error because the outcome was forgotten.
  int64_t forgotten() const { return forgotten_; }

  class Task;
  class Master;
  class Client;

 private:
  struct Update {
    int client;
    int64_t number;  // how many steps of the client came before
    int64_t step_id;
  };
  friend class Task;
  friend class Master;
  friend class Client;

  // The ledger.
  void Applied(int task, const std::vector<Update>& log, const Update& update);
  // Whether each device of each server has the steps of the first.
  void CheckServers();
  void Fail(std::string what);
  void CheckEnd();
  void ScheduleFaults();
  bool has_bug(PlantedBug bug) const { return bug_ == bug; }
  SeededRandom& random() { return network_.random(); }
  bool is_server(int task) const { return task < num_servers_; }

  static constexpr int64_t kStepsPerClient = 6;

  VirtualNetwork network_;
  const PlantedBug bug_;
  int num_servers_ = 0, num_workers_ = 0;
  int num_devices_ = 1;  // of a server
  size_t remembered_steps_ = 0;
  bool has_side_steps_ = false;
  Micros last_fault_ = 0, heal_time_ = 0;
  bool has_local_failures_ = false;
  std::vector<std::unique_ptr<Task>> tasks_;        // servers first, then workers
  std::map<int, std::unique_ptr<Master>> masters_;  // by process
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<Update> checkpoint_;
  std::set<std::pair<int, int64_t>> fenced_;  // task and step
  int64_t next_id_ = 1, generation_ = 0;
  int64_t steps_ = 0, events_ = 0, forgotten_ = 0;
  bool is_given_up_ = false;  // a participant reported that it dropped updates: nobody promises more
  std::vector<Violation> violations_;
};

}  // namespace weir
