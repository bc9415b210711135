#include "tests/simulation/commit_world.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "worker/commit/commit_state.h"
#include "worker/commit/step_outcomes.h"

namespace weir {
namespace {

constexpr int64_t kStepsPerClient = 6;
constexpr Micros kCallTimeout = 10 * kSecond, kAnswerTimeout = 5 * kSecond, kAbortTimeout = kSecond;
constexpr Micros kCommittedPatience = 5 * kSecond, kSuspensionLimit = 2500 * kMilli, kSettling = kSecond;
constexpr Micros kLongestRun = 3600 * kSecond;

enum class Kind { kTrain, kRestore, kRead };

// As RunGraphArgs.
struct RunRequest {
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

}  // namespace

const char* NameOf(PlantedBug bug) {
  static constexpr const char* kNames[] = {"none",
                                           "decides_without_ready",
                                           "aborts_when_ready",
                                           "forgets_outcomes",
                                           "denies_commit",
                                           "runs_updates_twice",
                                           "drops_updates",
                                           "unreachable_is_aborted",
                                           "commits_after_abort",
                                           "skips_fence",
                                           "unfenced_session",
                                           "repeats_without_reading"};
  static_assert(std::size(kNames) == static_cast<size_t>(PlantedBug::kCount));
  return kNames[static_cast<int>(bug)];
}

// Drives CommitState and StepOutcomes as Worker, WorkerSession and StepParticipation do. Dies with its process.
class CommitWorld::Task {
 public:
  Task(CommitWorld* world, int id) : world_(*world), net_(world->network_), id_(id) {}

  bool is_whole() const { return is_initialized_; }
  int64_t generation() const { return generation_; }
  const std::vector<Update>& log() const { return log_; }

  void GetStatus(const std::shared_ptr<Call>& call) { net_.Answer(call, {.incarnation = incarnation()}); }

  void ResolveStep(const std::shared_ptr<Call>& call, const std::string& session, int64_t step_id) {
    bool committed = outcomes_->IsCommittedElseAbort(session, step_id);
    if (world_.has_bug(PlantedBug::kDeniesCommit)) committed = false;
    net_.Trace(id_, absl::StrCat("answers: step ", step_id, committed ? " is committed" : " is aborted"));
    net_.Answer(call, {.incarnation = incarnation(), .committed = committed});
  }

  void FenceSteps(const std::shared_ptr<Call>& call, const std::string& handle, const std::vector<int64_t>& ids) {
    const auto session = Find(handle);
    if (session == nullptr) return net_.Answer(call, {.code = Code::kNoSession});
    for (const int64_t id : ids) outcomes_->IsCommittedElseAbort(handle, id);
    EndSteps(session, &ids, [this, call, ids] {
      for (const int64_t id : ids) {
        net_.Trace(id_, absl::StrCat("answers the fence of step ", id));
        world_.fenced_.emplace(id_, id);
      }
      net_.Answer(call, {});
    });
  }

  void CreateSession(const std::shared_ptr<Call>& call, const std::string& handle, int master, int64_t incarnation) {
    std::vector<std::shared_ptr<Session>> orphans;
    // Incarnations are ordered here: an earlier master's request that arrives late does nothing.
    if (newest_master_[master] > incarnation) return net_.Answer(call, {.code = Code::kAborted});
    newest_master_[master] = incarnation;
    if (world_.has_bug(PlantedBug::kForgetsOutcomes)) outcomes_ = std::make_unique<StepOutcomes>();
    if (Find(handle) == nullptr) {
      for (auto it = sessions_.begin(); it != sessions_.end();) {
        const auto current = it++;
        if (current->second->master != master || current->second->master_incarnation == incarnation) continue;
        orphans_.push_back(current->second);
        sessions_.erase(current);
      }
      auto session = std::make_shared<Session>();
      session->handle = handle;
      session->master = master;
      session->master_incarnation = incarnation;
      sessions_.emplace(handle, session);
    }
    for (const auto& orphan : orphans_) {
      if (orphan->master == master) orphans.push_back(orphan);
    }
    if (world_.has_bug(PlantedBug::kUnfencedSession)) net_.Answer(call, {});
    const std::shared_ptr<void> answer(nullptr, [this, call](void*) { net_.Answer(call, {}); });
    for (const auto& orphan : orphans) {
      orphan->has_ended = true;
      EndSteps(orphan, nullptr, [answer] {});
    }
  }

  void RunGraph(const std::shared_ptr<Call>& call, const RunRequest& request) {
    const auto session = Find(request.session);
    if (session == nullptr) return net_.Answer(call, {.code = Code::kNoSession});
    if (request.graph_incarnation != incarnation() || IsFencedFor(*session) || ended_.contains(request.step_id)) {
      return net_.Answer(call, {.code = Code::kAborted});
    }
    auto run = std::make_shared<Run>();
    run->request = request;
    run->call = call;
    run->session = session;
    run->token = next_token_++;
    session->runs.emplace(run->token, run);
    call->cancelled = [this, run] { Cancel(run); };
    Begin(run);
  }

  void Receive(const std::shared_ptr<Call>& call, int64_t step_id, const std::string& key) {
    if (ended_.contains(step_id)) return net_.Answer(call, {.code = Code::kAborted});
    Meeting& meeting = meetings_[step_id];
    if (const auto sent = meeting.sent.find(key); sent != meeting.sent.end()) {
      return net_.Answer(call, {.values = {sent->second}});
    }
    meeting.waiting.emplace_back(key, call);
  }

  void Cleanup(int64_t step_id) {
    ended_.insert(step_id);
    const Meeting meeting = std::move(meetings_[step_id]);
    meetings_.erase(step_id);
    for (const auto& [key, call] : meeting.waiting) net_.Answer(call, {.code = Code::kAborted});
    for (const auto& failed : meeting.local) failed();
  }

  void StoodStill() {
    fenced_until_ = net_.now() + kSettling;
    for (const auto& [handle, session] : sessions_) {
      if (session->master != id_) EndSteps(session, nullptr, [] {});
    }
  }
  void WillStandStill(Micros duration) {
    if (duration > kSuspensionLimit) fenced_until_ = net_.now() + duration + kSettling;
  }

 private:
  struct Run;
  struct Session {
    std::string handle;
    int master = 0;
    int64_t master_incarnation = 0;
    bool has_ended = false;
    std::map<int64_t, std::shared_ptr<Run>> runs;
    std::vector<std::pair<std::set<int64_t>, std::function<void()>>> waiters;
  };
  struct Run {
    RunRequest request;
    std::shared_ptr<Call> call;
    std::shared_ptr<Session> session;
    int64_t token = 0;
    CommitState state;
    int inputs = 0;          // still missing
    int64_t generation = 0;  // of the variables that it computed with
    bool is_committed = false, has_ended = false, is_updating = false;
    Micros gives_up = 0, pause = 200 * kMilli;
  };
  struct Meeting {
    std::map<std::string, int64_t> sent;  // with the generation that the sender computed with
    std::vector<std::pair<std::string, std::shared_ptr<Call>>> waiting;
    std::vector<std::function<void()>> local;  // end this task's own waits
  };

  int64_t incarnation() const { return net_.incarnation(id_); }
  bool IsFencedFor(const Session& session) const { return session.master != id_ && net_.now() < fenced_until_; }
  std::shared_ptr<Session> Find(const std::string& handle) {
    const auto it = sessions_.find(handle);
    return it == sessions_.end() ? nullptr : it->second;
  }
  bool Decides(const Run& run) const { return run.request.coordinator == id_; }
  bool Participates(const Run& run) const { return run.request.coordinator >= 0 && world_.is_server(id_); }

  void EndSteps(const std::shared_ptr<Session>& session, const std::vector<int64_t>* ids, std::function<void()> ended) {
    std::vector<std::shared_ptr<Run>> runs;
    std::set<int64_t> tokens;
    for (const auto& [token, run] : session->runs) {
      if (ids != nullptr && std::find(ids->begin(), ids->end(), run->request.step_id) == ids->end()) continue;
      runs.push_back(run);
      tokens.insert(token);
    }
    if (runs.empty()) return ended();
    session->waiters.emplace_back(std::move(tokens), std::move(ended));
    for (const auto& run : runs) Cancel(run);
  }

  void End(const std::shared_ptr<Run>& run, Code code) {
    if (std::exchange(run->has_ended, true)) return;
    const auto session = run->session;
    session->runs.erase(run->token);
    std::vector<std::function<void()>> ended;
    for (auto it = session->waiters.begin(); it != session->waiters.end();) {
      if (it->first.erase(run->token) == 0 || !it->first.empty()) {
        ++it;
        continue;
      }
      ended.push_back(std::move(it->second));
      it = session->waiters.erase(it);
    }
    net_.Answer(run->call, {.code = code});
    for (const auto& call : ended) call();
  }

  void Begin(const std::shared_ptr<Run>& run) {
    const RunRequest& request = run->request;
    if (request.kind == Kind::kRead) {
      std::vector<int64_t> values = {is_initialized_ ? generation_ : 0, 0};
      for (const Update& update : log_) values[1] += update.client == request.client ? 1 : 0;
      run->session->runs.erase(run->token);
      return net_.Answer(run->call, {.values = std::move(values)});
    }
    run->inputs = 1;  // its own computation
    run->generation = generation_;
    if (world_.is_server(id_)) {
      for (const int source : request.sources) Await(run, source, "input");
      if (Decides(*run)) {
        for (const int other : request.participants) {
          if (other == id_) continue;
          if (world_.has_bug(PlantedBug::kDecidesWithoutReady) && other == request.participants.back()) continue;
          Await(run, other, "ready");
        }
      } else {
        AwaitDecision(run);
      }
    }
    net_.Post(id_, ComputeTime(), [this, run] {
      const bool cannot = run->request.kind == Kind::kTrain && world_.is_server(id_) && !is_initialized_;
      if (cannot || (world_.has_local_failures_ && net_.random().OneIn(12))) return KernelFailed(run);
      GotInput(run);
    });
  }

  Micros ComputeTime() {
    return net_.random().OneIn(6) ? net_.random().In(1, 400) * kMilli : net_.random().In(100, 5000);
  }

  // A kernel of another part of the graph fails.
  void KernelFailed(const std::shared_ptr<Run>& run) {
    net_.Trace(id_, absl::StrCat("fails to compute step ", run->request.step_id));
    Cancel(run);
  }

  void Await(const std::shared_ptr<Run>& run, int from, const std::string& key) {
    ++run->inputs;
    ReceiveFrom(run, from, key, [this, run, key](const Response& response) {
      // Assumption, see the test: variables of two generations take no common step.
      const bool is_mixed = key == "ready" && response.code == Code::kOk && run->request.kind == Kind::kTrain &&
                            response.values[0] != run->generation;
      response.code == Code::kOk && !is_mixed ? GotInput(run) : KernelFailed(run);
    });
  }
  void ReceiveFrom(const std::shared_ptr<Run>& run, int from, const std::string& key,
                   std::function<void(const Response&)> done) {
    auto once = std::make_shared<std::function<void(const Response&)>>(std::move(done));
    auto finish = [once](const Response& response) {
      if (auto call = std::exchange(*once, nullptr)) call(response);
    };
    const int64_t step_id = run->request.step_id;
    meetings_[step_id].local.push_back([finish] { finish({.code = Code::kAborted}); });
    net_.Start(
        id_, from, 0, false,
        [&world = world_, from, step_id, key](auto call) { world.tasks_[from]->Receive(call, step_id, key); }, finish);
  }
  void Send(int64_t step_id, const std::string& key, int64_t generation = 0) {
    if (ended_.contains(step_id)) return;
    Meeting& meeting = meetings_[step_id];
    meeting.sent.emplace(key, generation);
    for (const auto& [wanted, call] : meeting.waiting) {
      if (wanted == key) net_.Answer(call, {.values = {generation}});
    }
  }

  void GotInput(const std::shared_ptr<Run>& run) {
    if (run->has_ended || --run->inputs > 0) return;
    const int64_t step_id = run->request.step_id;
    if (!world_.is_server(id_)) {
      Send(step_id, "input");
      return End(run, Code::kOk);
    }
    if (Decides(*run)) return Decide(run);
    run->state.Ready();
    if (run->state.state() != CommitState::State::kReady) return;
    net_.Trace(id_, absl::StrCat("is ready for step ", step_id));
    Send(step_id, "ready", run->generation);
  }

  // StepParticipation::Decide and _CommitDecide.
  void Decide(const std::shared_ptr<Run>& run) {
    const int64_t step_id = run->request.step_id;
    if (IsFencedFor(*run->session)) Cancel(run);
    bool committed = outcomes_->Commit(run->request.session, step_id);
    if (world_.has_bug(PlantedBug::kCommitsAfterAbort)) committed = true;
    if (!committed) return End(run, Code::kAborted);
    net_.Trace(id_, absl::StrCat("commits step ", step_id));
    run->is_committed = true;
    Send(step_id, "decision");
    RunUpdates(run);
  }

  void AwaitDecision(const std::shared_ptr<Run>& run) {
    ReceiveFrom(run, run->request.coordinator, "decision", [this, run](const Response& response) {
      if (response.code != Code::kOk) return Interrupted(run);
      Act(run, run->state.Decided());
    });
  }

  // StepParticipation::Cancel.
  void Cancel(const std::shared_ptr<Run>& run) {
    if (run->has_ended) return;
    if (!Participates(*run)) return End(run, Code::kCancelled);
    if (Decides(*run)) {
      if (!outcomes_->IsCommittedElseAbort(run->request.session, run->request.step_id)) {
        if (world_.has_bug(PlantedBug::kCommitsAfterAbort)) return;
        End(run, Code::kCancelled);
      }
      return;
    }
    Interrupted(run);
  }

  void Interrupted(const std::shared_ptr<Run>& run) {
    if (run->has_ended) return;
    if (world_.has_bug(PlantedBug::kDropsUpdates) && run->is_updating) return End(run, Code::kCancelled);
    if (world_.has_bug(PlantedBug::kAbortsWhenReady)) return Act(run, run->state.CoordinatorLost());
    const CommitState::Action action = run->state.Failed();
    if (action == CommitState::Action::kAsk) run->gives_up = net_.now() + 600 * kSecond;
    Act(run, action);
  }

  void Act(const std::shared_ptr<Run>& run, CommitState::Action action) {
    switch (action) {
      case CommitState::Action::kNone:
        return;
      case CommitState::Action::kAsk:
        return Ask(run);
      case CommitState::Action::kAbort:
        net_.Trace(id_, absl::StrCat("aborts step ", run->request.step_id));
        return End(run, Code::kAborted);
      case CommitState::Action::kRunUpdates:
        return RunUpdates(run);
    }
  }

  void Ask(const std::shared_ptr<Run>& run) {
    const int coordinator = run->request.coordinator;
    net_.Trace(id_, absl::StrCat("asks for the decision on step ", run->request.step_id));
    net_.Start(
        id_, coordinator, kAnswerTimeout, true,
        [&world = world_, coordinator, request = run->request](auto call) {
          world.tasks_[coordinator]->ResolveStep(call, request.session, request.step_id);
        },
        [this, run](const Response& response) { Answered(run, response); });
  }

  void Answered(const std::shared_ptr<Run>& run, const Response& response) {
    if (world_.has_bug(PlantedBug::kRunsUpdatesTwice) && response.committed) return RunUpdates(run);
    if (run->state.state() != CommitState::State::kAsking) return;
    const bool answered = response.code == Code::kOk;
    if (answered && response.incarnation != run->request.coordinator_incarnation) {
      return Act(run, run->state.CoordinatorLost());
    }
    if (answered) return Act(run, run->state.Answered(response.committed));
    if (world_.has_bug(PlantedBug::kUnreachableIsAborted) || net_.now() > run->gives_up) {
      return Act(run, run->state.CoordinatorLost());
    }
    const Micros pause = run->pause;
    run->pause = std::min(2 * run->pause, 2 * kSecond);
    net_.Timer(id_, pause, [this, run] { Ask(run); });
  }

  // The updates of one task take a while, and are not interrupted.
  void RunUpdates(const std::shared_ptr<Run>& run) {
    run->is_updating = true;
    net_.Post(id_, ComputeTime(), [this, run] {
      if (run->has_ended && world_.has_bug(PlantedBug::kDropsUpdates)) return;
      Apply(run->request, run->generation);
      End(run, Code::kOk);
    });
  }

  void Apply(const RunRequest& request, int64_t generation) {
    if (request.kind == Kind::kRestore) {
      net_.Trace(id_, absl::StrCat("restores generation ", request.generation));
      generation_ = request.generation;
      is_initialized_ = true;
      log_ = world_.checkpoint_;
      return;
    }
    // Assumption, see the test: what was computed from a lost generation updates no restored variables.
    if (generation != generation_) return;
    const Update update{request.client, request.number, request.step_id};
    net_.Trace(id_,
               absl::StrCat("applies step ", request.step_id, ", client ", request.client, " number ", request.number));
    world_.Applied(id_, log_, update);
    log_.push_back(update);
  }

  CommitWorld& world_;
  VirtualNetwork& net_;
  const int id_;
  std::unique_ptr<StepOutcomes> outcomes_ = std::make_unique<StepOutcomes>();
  std::map<std::string, std::shared_ptr<Session>> sessions_;
  std::vector<std::shared_ptr<Session>> orphans_;
  std::map<int, int64_t> newest_master_;
  std::map<int64_t, Meeting> meetings_;
  std::set<int64_t> ended_;
  int64_t next_token_ = 1;
  Micros fenced_until_ = 0;
  bool is_initialized_ = false;
  int64_t generation_ = 0;
  std::vector<Update> log_;
};

// As MasterSession, Step and SessionTasks.
class CommitWorld::Master {
 public:
  Master(CommitWorld* world, int id) : world_(*world), net_(world->network_), id_(id) {
    incarnation_ = net_.incarnation(id_);
    coordinator_ = static_cast<int>(net_.random().In(0, world_.num_servers_ - 1));
  }

  // The session of its client. `done` gets whether it is open.
  void Connect(std::function<void(bool)> done) {
    if (is_open_) return done(true);
    if (handle_.empty()) handle_ = absl::StrCat("session-", world_.next_id_++);
    Refresh([this, done = std::move(done)](bool ok) {
      is_open_ = is_open_ || (ok && known_.size() == world_.tasks_.size());
      done(is_open_);
    });
  }

  // `done` gets the code and, for a read, whether the variables are whole, and the client's number of steps.
  void Run(Kind kind, int client, int64_t number, std::function<void(const Response&)> done) {
    RefreshIfNeeded([this, kind, client, number, done = std::move(done)](bool ok) {
      if (!ok) return done({.code = Code::kUnavailable});
      StartStep(kind, client, number, done);
    });
  }

 private:
  enum class Updates { kUnknown, kCommitted, kAborted };
  struct Step {
    int64_t id = 0;
    Kind kind = Kind::kRead;
    std::vector<int> tasks;
    std::vector<std::shared_ptr<Call>> calls;
    std::map<int, std::vector<int64_t>> values;
    std::map<int, int64_t> incarnations;  // of the tasks
    std::function<void(const Response&)> done;
    int pending = 0;
    bool has_failed = false, part_failed = false, ending = false, is_over = false;
    Updates updates = Updates::kUnknown;
    bool commits() const { return kind != Kind::kRead; }
  };

  void RefreshIfNeeded(std::function<void(bool)> done) {
    if (is_refreshing_) {
      waiting_.push_back(std::move(done));
      return;
    }
    if (!std::exchange(needs_refresh_, false)) return done(true);
    is_refreshing_ = true;
    Refresh([this, done = std::move(done)](bool ok) {
      is_refreshing_ = false;
      if (!ok) needs_refresh_ = true;
      done(ok);
      for (auto& next : std::exchange(waiting_, {})) RefreshIfNeeded(std::move(next));
    });
  }

  // Asks all tasks, then opens sessions on those that have restarted and fences the others.
  void Refresh(std::function<void(bool)> done) {
    struct Round {
      int pending = 0;
      bool ok = true;
      std::function<void(bool)> done;
    };
    auto round = std::make_shared<Round>();
    round->done = std::move(done);
    round->pending = static_cast<int>(world_.tasks_.size());
    const auto end = [round](bool ok) {
      round->ok = round->ok && ok;
      if (--round->pending == 0) round->done(round->ok);
    };
    for (int task = 0; task < static_cast<int>(world_.tasks_.size()); ++task) {
      net_.Start(
          id_, task, kCallTimeout, true, [&world = world_, task](auto call) { world.tasks_[task]->GetStatus(call); },
          [this, task, end](const Response& status) {
            if (status.code != Code::kOk) {
              const bool matters = !known_.contains(task) || !unsettled_[task].empty();
              return end(!matters);
            }
            const auto known = known_.find(task);
            const bool is_same = known != known_.end() && known->second == status.incarnation;
            is_same ? Fence(task, end) : Open(task, status.incarnation, end);
          });
    }
  }

  void Open(int task, int64_t incarnation, std::function<void(bool)> end) {
    net_.Start(
        id_, task, kCallTimeout, true,
        [&world = world_, task, handle = handle_, id = id_, own = incarnation_](auto call) {
          world.tasks_[task]->CreateSession(call, handle, id, own);
        },
        [this, task, incarnation, end](const Response& opened) {
          if (opened.code == Code::kOk) {
            known_[task] = incarnation;
            unsettled_.erase(task);
          }
          end(opened.code == Code::kOk);
        });
  }

  void Fence(int task, std::function<void(bool)> end) {
    const std::vector<int64_t> ids = unsettled_[task];
    if (ids.empty()) return end(true);
    if (world_.has_bug(PlantedBug::kSkipsFence)) {
      unsettled_.erase(task);
      return end(true);
    }
    net_.Start(
        id_, task, kCallTimeout, true,
        [&world = world_, task, handle = handle_, ids](auto call) {
          world.tasks_[task]->FenceSteps(call, handle, ids);
        },
        [this, task, ids, end](const Response& fenced) {
          const bool ok = fenced.code == Code::kOk || fenced.code == Code::kNoSession;
          if (ok) {
            std::vector<int64_t>& unsettled = unsettled_[task];
            unsettled.erase(
                std::remove_if(unsettled.begin(), unsettled.end(),
                               [&](int64_t id) { return std::find(ids.begin(), ids.end(), id) != ids.end(); }),
                unsettled.end());
          }
          end(ok);
        });
  }

  void StartStep(Kind kind, int client, int64_t number, std::function<void(const Response&)> done) {
    auto step = std::make_shared<Step>();
    step->id = world_.next_id_++;
    step->kind = kind;
    step->done = std::move(done);
    RunRequest request{.session = handle_, .step_id = step->id, .kind = kind, .client = client, .number = number};
    if (kind == Kind::kRestore) request.generation = ++world_.generation_;
    for (int task = 0; task < world_.num_servers_; ++task) request.participants.push_back(task);
    step->tasks = request.participants;
    if (step->commits()) {
      request.coordinator = coordinator_;
      request.coordinator_incarnation = known_[coordinator_];
      request.sources = {id_};
      step->tasks.push_back(id_);
      net_.Trace(id_, absl::StrCat("starts step ", step->id, kind == Kind::kRestore ? ", a restore" : "", ", client ",
                                   client, " number ", number));
    }
    step->pending = static_cast<int>(step->tasks.size());
    const Micros timeout = net_.random().OneIn(3) ? net_.random().In(5, 3000) * kMilli : 30 * kSecond;
    net_.Timer(id_, timeout, [this, step] { Fail(step, -1, Code::kDeadline); });
    for (const int task : step->tasks) {
      step->incarnations[task] = request.graph_incarnation = known_[task];
      step->calls.push_back(net_.Start(
          id_, task, timeout + 5 * kSecond, false,
          [&world = world_, task, request](auto call) { world.tasks_[task]->RunGraph(call, request); },
          [this, step, task](const Response& response) {
            step->values[task] = response.values;
            if (response.code != Code::kOk) {
              step->part_failed = true;
              Fail(step, task, response.code);
            }
            Settle(step);
          }));
    }
  }

  void Fail(const std::shared_ptr<Step>& step, int from, Code code) {
    if (step->is_over) return;
    step->has_failed = true;
    if (std::exchange(step->ending, true)) return;
    const bool is_dead = code == Code::kUnavailable && from == coordinator_;
    if (!step->commits() || is_dead) return CancelParts(step);
    ++step->pending;
    const int coordinator = coordinator_;
    net_.Start(
        id_, coordinator, kAbortTimeout, true,
        [&world = world_, coordinator, handle = handle_, id = step->id](auto call) {
          world.tasks_[coordinator]->ResolveStep(call, handle, id);
        },
        [this, step](const Response& response) { Aborted(step, response); });
  }

  void Aborted(const std::shared_ptr<Step>& step, const Response& response) {
    // Another incarnation has forgotten its decision, which may have reached others.
    const bool answered = response.code == Code::kOk && response.incarnation == step->incarnations[coordinator_];
    if (answered) step->updates = response.committed ? Updates::kCommitted : Updates::kAborted;
    if (step->updates == Updates::kCommitted) {
      net_.Timer(id_, kCommittedPatience, [this, step] { CancelParts(step); });
    } else {
      CancelParts(step);
    }
    Settle(step);
  }

  void CancelParts(const std::shared_ptr<Step>& step) {
    if (step->is_over) return;
    for (const auto& call : step->calls) {
      if (call->is_done) continue;
      net_.Cancel(call);
      // The caller's end does not wait for the other side.
      call->is_done = true;
      net_.Post(id_, 1, [call] { call->done({.code = Code::kCancelled}); });
    }
  }

  void Settle(const std::shared_ptr<Step>& step) {
    if (--step->pending > 0) return;
    step->is_over = true;
    const bool late = step->updates == Updates::kCommitted && !step->part_failed;
    if (late) step->has_failed = false;
    for (const int task : step->tasks) {
      if (!step->commits()) continue;
      net_.Start(
          id_, task, 0, false,
          [&world = world_, task, id = step->id](auto call) {
            world.tasks_[task]->Cleanup(id);
            world.network_.Answer(call, {});
          },
          [](const Response&) {});
    }
    if (step->has_failed) {
      needs_refresh_ = true;
      if (step->commits() && step->updates != Updates::kAborted) {
        for (const int task : step->tasks) unsettled_[task].push_back(step->id);
      }
      if (step->commits()) net_.Trace(id_, absl::StrCat("step ", step->id, " has failed"));
      return step->done({.code = Code::kAborted});
    }
    if (step->commits()) {
      net_.Trace(id_, absl::StrCat("step ", step->id, " has succeeded"));
      return step->done({});
    }
    const int64_t generation = step->values[0][0];
    bool is_whole = generation != 0;
    for (int task = 0; task < world_.num_servers_; ++task) is_whole = is_whole && step->values[task][0] == generation;
    step->done({.values = {is_whole ? 1 : 0, step->values[0][1]}});
  }

  CommitWorld& world_;
  VirtualNetwork& net_;
  const int id_;
  int64_t incarnation_ = 0;
  int coordinator_ = 0;
  std::string handle_;
  bool is_open_ = false, needs_refresh_ = false, is_refreshing_ = false;
  std::map<int, int64_t> known_;
  std::map<int, std::vector<int64_t>> unsettled_;
  std::vector<std::function<void(bool)>> waiting_;
};

// As TrainingLoop, in its master's process. The first client is the chief.
class CommitWorld::Client {
 public:
  Client(CommitWorld* world, int id, int process) : world_(*world), net_(world->network_), id_(id), process_(process) {}

  int process() const { return process_; }
  bool is_done() const { return is_done_; }

  // At each start of its process.
  void Start() { Read(); }

 private:
  Master& master() { return *world_.masters_[process_ - world_.num_servers_]; }
  void Later(std::function<void()> what) { net_.Timer(process_, net_.random().In(50, 1000) * kMilli, std::move(what)); }

  void Read() {
    is_done_ = false;
    master().Connect([this](bool is_open) {
      if (!is_open) return Later([this] { Read(); });
      master().Run(Kind::kRead, id_, 0, [this](const Response& response) {
        if (response.code != Code::kOk) return Later([this] { Read(); });
        if (response.values[0] == 0) return id_ == 0 ? Restore() : Later([this] { Read(); });
        number_ = response.values[1];
        Next();
      });
    });
  }

  void Restore() {
    master().Run(Kind::kRestore, id_, 0, [this](const Response&) { Later([this] { Read(); }); });
  }

  void Next() {
    // The end is sure only once nothing can be lost any more.
    if (number_ >= kStepsPerClient) {
      if (net_.now() > world_.heal_time_) {
        is_done_ = true;
        return;
      }
      return net_.Timer(process_, 2 * (world_.heal_time_ - net_.now()) + kSecond, [this] { Read(); });
    }
    ++world_.steps_;
    master().Run(Kind::kTrain, id_, number_, [this](const Response& response) {
      if (response.code != Code::kOk) {
        if (world_.has_bug(PlantedBug::kRepeatsWithoutReading) && net_.random().OneIn(2)) {
          return Later([this] { Next(); });
        }
        return Later([this] { Read(); });
      }
      ++number_;
      if (id_ == 0 && net_.random().OneIn(3)) Save();
      net_.Timer(process_, net_.random().In(0, 300) * kMilli, [this] { Next(); });
    });
  }

  // All steps that have reached every server, at once.
  void Save() {
    for (int task = 0; task < world_.num_servers_; ++task) {
      if (!world_.tasks_[task]->is_whole() || world_.tasks_[task]->generation() != world_.tasks_[0]->generation())
        return;
    }
    std::vector<Update> saved;
    for (const Update& update : world_.tasks_[0]->log()) {
      bool everywhere = true;
      for (int task = 1; task < world_.num_servers_; ++task) {
        const auto& log = world_.tasks_[task]->log();
        everywhere = everywhere && std::any_of(log.begin(), log.end(),
                                               [&](const Update& other) { return other.step_id == update.step_id; });
      }
      if (everywhere) saved.push_back(update);
    }
    world_.checkpoint_ = std::move(saved);
  }

  CommitWorld& world_;
  VirtualNetwork& net_;
  const int id_, process_;
  int64_t number_ = 0;
  bool is_done_ = false;
};

CommitWorld::CommitWorld(uint64_t seed, PlantedBug bug, bool prints) : network_(seed, prints), bug_(bug) {
  num_servers_ = static_cast<int>(random().In(2, 3));
  num_workers_ = static_cast<int>(random().In(1, 4));
  has_local_failures_ = random().OneIn(4);
  last_fault_ = random().In(2, 30) * kSecond;
  heal_time_ = last_fault_ + 30 * kSecond;  // longer than any fault and its notice
  tasks_.resize(num_servers_ + num_workers_);
  masters_.resize(num_workers_);
  for (int task = 0; task < static_cast<int>(tasks_.size()); ++task) {
    const std::string name = is_server(task) ? absl::StrCat("ps-", task) : absl::StrCat("worker-", task - num_servers_);
    tasks_[task] = std::make_unique<Task>(this, task);
    network_.AddProcess(name, [this, task] {
      tasks_[task] = std::make_unique<Task>(this, task);
      if (is_server(task)) return;
      masters_[task - num_servers_] = std::make_unique<Master>(this, task);
      for (const auto& client : clients_) {
        if (client->process() == task) client->Start();
      }
    });
  }
  for (int worker = 0; worker < num_workers_; ++worker) {
    clients_.push_back(std::make_unique<Client>(this, worker, num_servers_ + worker));
  }
  ScheduleFaults();
}

CommitWorld::~CommitWorld() = default;

void CommitWorld::ScheduleFaults() {
  const int last = static_cast<int>(tasks_.size()) - 1;
  const int64_t busy = std::min<Micros>(last_fault_, 6 * kSecond);
  for (int64_t faults = random().In(1, 8); faults > 0; --faults) {
    const Micros time = random().In(0, random().OneIn(2) ? busy : last_fault_);
    const int a = static_cast<int>(random().In(0, last)), b = static_cast<int>(random().In(0, last));
    const Micros duration = random().OneIn(2) ? random().In(1, 800) * kMilli : random().In(1, 12) * kSecond;
    switch (random().In(0, 5)) {
      case 0:
        network_.At(time, [this, a, duration] { network_.Crash(a, duration); });
        break;
      case 1:
        network_.At(time, [this, a, duration] {
          if (!network_.is_up(a)) return;
          tasks_[a]->WillStandStill(duration);
          network_.Suspend(a, duration, [this, a, duration] {
            if (duration > kSuspensionLimit) tasks_[a]->StoodStill();
          });
        });
        break;
      case 2:
        network_.At(time, [this, a, b, duration] { network_.Cut(a, b, duration); });
        break;
      case 3:
        network_.At(time, [this, a, b, duration] {
          network_.Cut(a, b, duration);
          network_.Cut(b, a, duration);
        });
        break;
      default:
        network_.At(time, [this, a, b] { network_.Break(a, b, random().OneIn(2) ? 8 * kSecond : 10 * kMilli); });
    }
  }
}

void CommitWorld::Fail(std::string what) {
  network_.Trace(-1, absl::StrCat("VIOLATION: ", what));
  violations_.push_back({std::move(what), network_.now()});
}

void CommitWorld::Applied(int task, const std::vector<Update>& log, const Update& update) {
  const std::string step = absl::StrCat("step ", update.step_id, " on ", network_.name(task));
  if (fenced_.contains({task, update.step_id})) Fail(absl::StrCat(step, " was applied after its fence was answered"));
  int64_t before = 0;
  for (const Update& other : log) {
    if (other.step_id == update.step_id) return Fail(absl::StrCat(step, " was applied twice"));
    before += other.client == update.client ? 1 : 0;
  }
  if (update.number != before) {
    Fail(absl::StrCat(step, ", number ", update.number, " of client ", update.client, ", was applied after ", before,
                      " steps of the client"));
  }
}

void CommitWorld::CheckEnd() {
  for (size_t client = 0; client < clients_.size(); ++client) {
    if (!clients_[client]->is_done()) Fail(absl::StrCat("client ", client, " waits without end"));
  }
  if (!violations_.empty()) return;
  for (int task = 0; task < num_servers_; ++task) {
    std::map<int, int64_t> counts;
    for (const Update& update : tasks_[task]->log()) ++counts[update.client];
    for (size_t client = 0; client < clients_.size(); ++client) {
      if (counts[client] == kStepsPerClient) continue;
      Fail(absl::StrCat(network_.name(task), " has ", counts[client], " steps of client ", client));
    }
    std::set<int64_t> here, there;
    for (const Update& update : tasks_[task]->log()) here.insert(update.step_id);
    for (const Update& update : tasks_[0]->log()) there.insert(update.step_id);
    if (here != there) Fail(absl::StrCat(network_.name(task), " and ", network_.name(0), " have different steps"));
  }
}

std::vector<Violation> CommitWorld::Run() {
  while (violations_.empty() && network_.now() < kLongestRun && network_.RunNext()) {
    ++events_;
    if (std::all_of(clients_.begin(), clients_.end(), [](const auto& client) { return client->is_done(); })) break;
  }
  if (violations_.empty()) CheckEnd();
  return violations_;
}

}  // namespace weir
