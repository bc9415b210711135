// A task of the simulated cluster.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "distribute/transport/worker_interface.h"
#include "tests/simulation/commit_world.h"
#include "worker/commit/step_outcomes.h"
#include "worker/commit/step_participation.h"

namespace weir {

// As RunGraphArgs.
struct RunRequest {
  enum class Kind { kTrain, kRestore, kRead, kSide };  // kSide updates the coordinator alone, not the ledger

  std::string session;
  int64_t step_id = 0;
  Kind kind = Kind::kRead;
  int client = 0;
  int64_t number = 0, generation = 0;
  int64_t graph_incarnation = 0;
  int coordinator = -1;
  int64_t coordinator_incarnation = 0;
  std::vector<int> participants, sources;
};

// Worker, WorkerSession and WorkerStep, around the real driver of a step's commit (StepParticipation), the real
// outcomes and the real transfers within a task. Dies with its process.
class CommitWorld::Task {
 public:
  Task(CommitWorld* world, int id);
  ~Task();

  bool is_whole() const { return is_initialized_; }
  int64_t generation() const { return generation_; }
  // The updates of one of the task's devices.
  const std::vector<Update>& log(int device = 0) const { return logs_[device]; }

  // Calls.
  void GetStatus(const std::shared_ptr<Call>& call);
  void ResolveStep(const std::shared_ptr<Call>& call, const std::string& session, int64_t step_id);
  void FenceSteps(const std::shared_ptr<Call>& call, const std::string& handle, const std::vector<int64_t>& ids);
  void CreateSession(const std::shared_ptr<Call>& call, const std::string& handle, int master, int64_t incarnation);
  void RunGraph(const std::shared_ptr<Call>& call, const RunRequest& request);
  void Receive(const std::shared_ptr<Call>& call, int64_t step_id, const std::string& key);
  void Cleanup(int64_t step_id);

  // The process will be, or was, suspended.
  void WillStandStill(Micros duration);
  void StoodStill();

 private:
  class Coordinator;
  struct Run;
  struct Session {
    std::string handle;
    int master = 0;
    int64_t master_incarnation = 0;
    std::map<int64_t, std::shared_ptr<Run>> runs;  // by token
    std::vector<std::pair<std::set<int64_t>, std::function<void()>>> waiters;
  };
  struct Run {
    RunRequest request;
    std::shared_ptr<Call> call;
    std::shared_ptr<Session> session;
    int64_t token = 0;
    std::shared_ptr<Rendezvous> received;   // from other tasks; cleaned up with the step
    std::shared_ptr<Rendezvous> transfers;  // what kernels use
    std::shared_ptr<StepParticipation> commit;
    int inputs = 0;          // still missing
    int64_t generation = 0;  // of the variables that it computed with
    int updating = 0;        // devices
    bool has_ended = false, is_updating = false;
  };
  struct Meeting {
    std::map<std::string, int64_t> sent;  // with the generation that the sender computed with
    std::vector<std::pair<std::string, std::shared_ptr<Call>>> waiting;
    std::vector<std::function<void()>> local;  // end this task's own waits
  };

  int64_t incarnation() const { return net_.incarnation(id_); }
  bool IsFencedFor(const Session& session) const { return session.master != id_ && net_.now() < fenced_until_; }
  std::shared_ptr<Session> Find(const std::string& handle);
  bool Decides(const Run& run) const { return run.request.coordinator == id_; }
  bool Participates(const Run& run) const { return run.request.coordinator >= 0 && world_.is_server(id_); }
  std::string Name(int task) const;
  Micros ComputeTime();

  void EndSteps(const std::shared_ptr<Session>& session, const std::vector<int64_t>* ids, std::function<void()> ended);
  void End(const std::shared_ptr<Run>& run, Code code);
  void Begin(const std::shared_ptr<Run>& run);
  void JoinCommit(const std::shared_ptr<Run>& run);
  void KernelFailed(const std::shared_ptr<Run>& run);
  void Await(const std::shared_ptr<Run>& run, int from, const std::string& key);
  void ReceiveFrom(const std::shared_ptr<Run>& run, int from, const std::string& key,
                   std::function<void(const Response&)> done);
  void Send(int64_t step_id, const std::string& key, int64_t generation = 0);
  void GotInput(const std::shared_ptr<Run>& run);
  void Decide(const std::shared_ptr<Run>& run);
  void Cancel(const std::shared_ptr<Run>& run);
  void RunUpdates(const std::shared_ptr<Run>& run);
  void UpdateOn(const std::shared_ptr<Run>& run, int device);
  void Apply(const Run& run, int device);

  CommitWorld& world_;
  VirtualNetwork& net_;
  const int id_;
  std::atomic<bool> is_ending_{false};
  StepOutcomes outcomes_;
  std::unique_ptr<StepOutcomes> emptied_;  // PlantedBug::kForgetsOutcomes
  std::map<std::string, std::shared_ptr<Session>> sessions_;
  std::vector<std::shared_ptr<Session>> orphans_;
  std::map<int, int64_t> newest_master_;
  std::map<int64_t, Meeting> meetings_;
  std::set<int64_t> ended_;
  int64_t next_token_ = 1;
  Micros fenced_until_ = 0;
  bool is_initialized_ = false;
  int64_t generation_ = 0;
  std::vector<Update> logs_[2];
};

}  // namespace weir
