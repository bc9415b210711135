#include "tests/simulation/commit_task.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "distribute/transport/fake_worker_testing.h"
#include "worker/commit/own_transfers.h"

namespace weir {
namespace {

constexpr Micros kSuspensionLimit = 2500 * kMilli, kSettling = kSecond;

absl::Status StatusOf(Code code) {
  switch (code) {
    case Code::kOk:
      return absl::OkStatus();
    case Code::kDeadline:
      return errors::DeadlineExceeded("no answer in time");
    case Code::kCancelled:
      return errors::Cancelled("the caller cancelled");
    case Code::kAborted:
      return errors::Aborted("the step is gone");
    case Code::kNoSession:
      return errors::NotFound("the session has no steps here");
    case Code::kForgotten:
      return errors::FailedPrecondition("no longer known");
    case Code::kUnavailable:
      break;
  }
  return errors::Unavailable("the connection broke");
}

}  // namespace

// The coordinator of a step, as a participant reaches it.
class CommitWorld::Task::Coordinator : public FakeWorker {
 public:
  Coordinator(Task* task, std::shared_ptr<Run> run) : task_(*task), run_(std::move(run)) {}

  void ResolveStepAsync(const CallOptions& options, const ResolveStepRequest*, ResolveStepResponse* response,
                        DoneCallback done) override {
    const RunRequest& request = run_->request;
    const int coordinator = request.coordinator;
    task_.net_.Trace(task_.id_, absl::StrCat("asks for the decision on step ", request.step_id));
    const Micros deadline = absl::ToInt64Microseconds(options.deadline - absl::UnixEpoch()) - task_.net_.now();
    task_.net_.Start(
        task_.id_, coordinator, deadline, true,
        [&world = task_.world_, coordinator, request](auto call) {
          world.tasks_[coordinator]->ResolveStep(call, request.session, request.step_id);
        },
        [&task = task_, run = run_, response, done = std::move(done)](const Response& answer) {
          response->set_committed(answer.committed);
          response->set_incarnation(static_cast<uint64_t>(answer.incarnation));
          absl::Status status = StatusOf(answer.code);
          // The participant drops its updates with an error in its log, as documented.
          if (answer.code == Code::kForgotten) task.world_.is_given_up_ = true;
          if (!status.ok() && task.world_.has_bug(PlantedBug::kUnreachableIsAborted)) {
            response->set_incarnation(static_cast<uint64_t>(run->request.coordinator_incarnation));
            status = absl::OkStatus();
          }
          const bool twice = status.ok() && response->committed() && task.world_.has_bug(PlantedBug::kRunsUpdatesTwice);
          done(status);
          if (twice) task.RunUpdates(run);
        });
  }

 private:
  Task& task_;
  const std::shared_ptr<Run> run_;
};

CommitWorld::Task::Task(CommitWorld* world, int id)
    : world_(*world), net_(world->network_), id_(id), outcomes_(OutcomeLimits{.steps = world->remembered_steps_}) {}

// As a worker that ends: nothing asks for a decision any more.
CommitWorld::Task::~Task() {
  is_ending_ = true;
  std::vector<std::shared_ptr<Run>> runs;
  for (const auto& [handle, session] : sessions_) orphans_.push_back(session);
  for (const auto& session : orphans_) {
    session->waiters.clear();
    for (const auto& [token, run] : session->runs) runs.push_back(run);
  }
  for (const auto& run : runs) {
    if (run->received != nullptr) run->received->StartAbort(errors::Cancelled("the task ends"));
  }
}

std::string CommitWorld::Task::Name(int task) const { return absl::StrCat("/job:sim/replica:0/task:", task); }

void CommitWorld::Task::GetStatus(const std::shared_ptr<Call>& call) {
  net_.Answer(call, {.incarnation = incarnation()});
}

void CommitWorld::Task::ResolveStep(const std::shared_ptr<Call>& call, const std::string& session, int64_t step_id) {
  StepOutcomes& outcomes = emptied_ != nullptr ? *emptied_ : outcomes_;
  const absl::StatusOr<bool> resolved = outcomes.IsCommittedElseAbort(session, step_id);
  const bool is_forgotten = absl::IsFailedPrecondition(resolved.status());
  if (is_forgotten && world_.has_bug(PlantedBug::kForgottenIsAborted)) {
    return net_.Answer(call, {.incarnation = incarnation(), .committed = false});
  }
  if (is_forgotten) ++world_.forgotten_;
  if (!resolved.ok()) {
    return net_.Answer(call, {.code = absl::IsNotFound(resolved.status()) ? Code::kNoSession : Code::kForgotten});
  }
  const bool committed = *resolved && !world_.has_bug(PlantedBug::kDeniesCommit);
  net_.Trace(id_, absl::StrCat("answers: step ", step_id, committed ? " is committed" : " is aborted"));
  net_.Answer(call, {.incarnation = incarnation(), .committed = committed});
}

void CommitWorld::Task::FenceSteps(const std::shared_ptr<Call>& call, const std::string& handle,
                                   const std::vector<int64_t>& ids) {
  const auto session = Find(handle);
  if (session == nullptr) return net_.Answer(call, {.code = Code::kNoSession});
  for (const int64_t id : ids) outcomes_.IsCommittedElseAbort(handle, id).status().IgnoreError();
  EndSteps(session, &ids, [this, call, ids] {
    for (const int64_t id : ids) {
      net_.Trace(id_, absl::StrCat("answers the fence of step ", id));
      world_.fenced_.emplace(id_, id);
    }
    net_.Answer(call, {});
  });
}

void CommitWorld::Task::CreateSession(const std::shared_ptr<Call>& call, const std::string& handle, int master,
                                      int64_t incarnation) {
  // Incarnations are ordered here: an earlier master's request that arrives late does nothing.
  if (newest_master_[master] > incarnation) return net_.Answer(call, {.code = Code::kAborted});
  newest_master_[master] = incarnation;
  if (Find(handle) == nullptr) {
    for (auto it = sessions_.begin(); it != sessions_.end();) {
      const auto current = it++;
      if (current->second->master != master || current->second->master_incarnation == incarnation) continue;
      outcomes_.Close(current->first);
      orphans_.push_back(current->second);
      sessions_.erase(current);
    }
    auto session = std::make_shared<Session>();
    session->handle = handle;
    session->master = master;
    session->master_incarnation = incarnation;
    sessions_.emplace(handle, session);
    outcomes_.Open(handle);
  }
  if (world_.has_bug(PlantedBug::kForgetsOutcomes)) {
    emptied_ = std::make_unique<StepOutcomes>();
    for (const auto& [open, session] : sessions_) emptied_->Open(open);
  }
  std::vector<std::shared_ptr<Session>> orphans;
  for (const auto& orphan : orphans_) {
    if (orphan->master == master) orphans.push_back(orphan);
  }
  if (world_.has_bug(PlantedBug::kUnfencedSession)) net_.Answer(call, {});
  const std::shared_ptr<void> answer(nullptr, [this, call](void*) { net_.Answer(call, {}); });
  for (const auto& orphan : orphans) EndSteps(orphan, nullptr, [answer] {});
}

void CommitWorld::Task::RunGraph(const std::shared_ptr<Call>& call, const RunRequest& request) {
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
  if (Participates(*run) && !outcomes_.CheckNotAborted(request.session, request.step_id).ok()) {
    return net_.Answer(call, {.code = Code::kAborted});
  }
  session->runs.emplace(run->token, run);
  call->cancelled = [this, run] { Cancel(run); };
  Begin(run);
}

void CommitWorld::Task::Receive(const std::shared_ptr<Call>& call, int64_t step_id, const std::string& key) {
  if (ended_.contains(step_id)) return net_.Answer(call, {.code = Code::kAborted});
  Meeting& meeting = meetings_[step_id];
  if (const auto sent = meeting.sent.find(key); sent != meeting.sent.end()) {
    return net_.Answer(call, {.values = {sent->second}});
  }
  meeting.waiting.emplace_back(key, call);
}

void CommitWorld::Task::Cleanup(int64_t step_id) {
  ended_.insert(step_id);
  const Meeting meeting = std::move(meetings_[step_id]);
  meetings_.erase(step_id);
  for (const auto& [key, call] : meeting.waiting) net_.Answer(call, {.code = Code::kAborted});
  for (const auto& failed : meeting.local) failed();
}

void CommitWorld::Task::WillStandStill(Micros duration) {
  if (duration > kSuspensionLimit) fenced_until_ = net_.now() + duration + kSettling;
}

void CommitWorld::Task::StoodStill() {
  fenced_until_ = net_.now() + kSettling;
  const auto sessions = sessions_;
  for (const auto& [handle, session] : sessions) {
    if (session->master != id_) EndSteps(session, nullptr, [] {});
  }
}

std::shared_ptr<CommitWorld::Task::Session> CommitWorld::Task::Find(const std::string& handle) {
  const auto it = sessions_.find(handle);
  return it == sessions_.end() ? nullptr : it->second;
}

void CommitWorld::Task::EndSteps(const std::shared_ptr<Session>& session, const std::vector<int64_t>* ids,
                                 std::function<void()> ended) {
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

void CommitWorld::Task::End(const std::shared_ptr<Run>& run, Code code) {
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

Micros CommitWorld::Task::ComputeTime() {
  return net_.random().OneIn(6) ? net_.random().In(1, 400) * kMilli : net_.random().In(100, 5000);
}

void CommitWorld::Task::Begin(const std::shared_ptr<Run>& run) {
  const RunRequest& request = run->request;
  if (request.kind == RunRequest::Kind::kRead) {
    std::vector<int64_t> values = {is_initialized_ ? generation_ : 0, 0};
    for (const Update& update : logs_[0]) values[1] += update.client == request.client ? 1 : 0;
    run->session->runs.erase(run->token);
    return net_.Answer(run->call, {.values = std::move(values)});
  }
  run->inputs = 1;  // its own computation
  run->generation = generation_;
  if (world_.is_server(id_)) {
    for (const int source : request.sources) {
      if (source != id_) Await(run, source, "input");
    }
    if (Decides(*run)) {
      for (const int other : request.participants) {
        if (other == id_) continue;
        if (world_.has_bug(PlantedBug::kDecidesWithoutReady) && other == request.participants.back()) continue;
        Await(run, other, "ready");
      }
    }
    JoinCommit(run);
  }
  net_.Post(id_, ComputeTime(), [this, run] {
    const bool cannot = run->request.kind == RunRequest::Kind::kTrain && world_.is_server(id_) && !is_initialized_;
    if (cannot || (world_.has_local_failures_ && net_.random().OneIn(12))) return KernelFailed(run);
    const auto& sources = run->request.sources;
    if (std::find(sources.begin(), sources.end(), id_) != sources.end()) Send(run->request.step_id, "input");
    GotInput(run);
  });
}

// WorkerStep::JoinCommit, and _CommitWait.
void CommitWorld::Task::JoinCommit(const std::shared_ptr<Run>& run) {
  const RunRequest& request = run->request;
  const std::weak_ptr<Run> weak = run;
  run->received = NewLocalRendezvous();
  run->transfers = run->received;
  if (!world_.has_bug(PlantedBug::kCleansUpOwnTransfers)) {
    run->transfers = std::make_shared<OwnTransfers>(Name(id_), run->received);
  }
  meetings_[request.step_id].local.push_back(
      [received = run->received] { received->StartAbort(errors::Aborted("the step was cleaned up")); });
  run->commit = std::make_shared<StepParticipation>(StepParticipation::Options{
      .session_handle = request.session,
      .step_id = request.step_id,
      .task = Name(id_),
      .coordinator = Decides(*run) ? "" : Name(request.coordinator),
      .coordinator_incarnation = static_cast<uint64_t>(request.coordinator_incarnation),
      .outcomes = &outcomes_,
      .peers = [this, weak](absl::string_view) -> absl::StatusOr<std::shared_ptr<WorkerInterface>> {
        auto asking = weak.lock();
        if (asking == nullptr) return errors::Cancelled("the step has ended");  // by a planted bug
        return std::make_shared<Coordinator>(this, std::move(asking));
      },
      .rendezvous = run->received,
      .now = [this] { return absl::UnixEpoch() + absl::Microseconds(net_.now()); },
      .after = [this](
                   absl::Duration pause,
                   std::function<void()> call) { net_.Timer(id_, absl::ToInt64Microseconds(pause), std::move(call)); },
      .cancel =
          [this, weak](const absl::Status&) {
            const auto cancelled = weak.lock();
            if (cancelled == nullptr || is_ending_) return;
            net_.Trace(id_, absl::StrCat("aborts step ", cancelled->request.step_id));
            End(cancelled, Code::kAborted);
          },
      .cancel_waits = [](const absl::Status&) {},
      .is_ending = &is_ending_});
  if (Decides(*run)) return;
  const std::string key = RendezvousKey::Create(absl::StrCat(Name(request.coordinator), "/device:CPU:0"),
                                                static_cast<uint64_t>(request.coordinator_incarnation),
                                                absl::StrCat(Name(id_), "/device:CPU:0"), "_commit", {});
  ReceiveFrom(run, request.coordinator, "decision", [received = run->received, key](const Response& response) {
    if (response.code != Code::kOk) return received->StartAbort(StatusOf(response.code));
    received->Send(key, Tensor::Scalar<bool>(true), false).IgnoreError();
  });
  const auto wait = [this, run, key, weak] {
    run->commit->AwaitDecision(key, [this, weak](const absl::Status& decided) {
      const auto waiting = weak.lock();
      if (waiting != nullptr) decided.ok() ? RunUpdates(waiting) : End(waiting, Code::kAborted);
    });
  };
  // The kernel may start after everything else.
  net_.random().OneIn(4) ? net_.Post(id_, ComputeTime(), wait) : wait();
}

// A kernel of another part of the graph fails.
void CommitWorld::Task::KernelFailed(const std::shared_ptr<Run>& run) {
  net_.Trace(id_, absl::StrCat("fails to compute step ", run->request.step_id));
  if (run->transfers != nullptr) run->transfers->StartAbort(errors::Internal("a kernel failed"));
  End(run, Code::kAborted);
}

void CommitWorld::Task::Await(const std::shared_ptr<Run>& run, int from, const std::string& key) {
  ++run->inputs;
  ReceiveFrom(run, from, key, [this, run, key](const Response& response) {
    // Assumption, see the test: variables of two generations take no common step.
    const bool is_mixed = key == "ready" && response.code == Code::kOk &&
                          run->request.kind == RunRequest::Kind::kTrain && response.values[0] != run->generation;
    response.code == Code::kOk && !is_mixed ? GotInput(run) : KernelFailed(run);
  });
}

void CommitWorld::Task::ReceiveFrom(const std::shared_ptr<Run>& run, int from, const std::string& key,
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

void CommitWorld::Task::Send(int64_t step_id, const std::string& key, int64_t generation) {
  if (ended_.contains(step_id)) return;
  Meeting& meeting = meetings_[step_id];
  meeting.sent.emplace(key, generation);
  for (const auto& [wanted, call] : meeting.waiting) {
    if (wanted == key) net_.Answer(call, {.values = {generation}});
  }
}

void CommitWorld::Task::GotInput(const std::shared_ptr<Run>& run) {
  if (run->has_ended || --run->inputs > 0) return;
  const int64_t step_id = run->request.step_id;
  if (!world_.is_server(id_)) return End(run, Code::kOk);
  if (Decides(*run)) return Decide(run);
  if (!run->commit->SetReady().ok()) return;
  net_.Trace(id_, absl::StrCat("is ready for step ", step_id));
  Send(step_id, "ready", run->generation);
}

// _CommitDecide.
void CommitWorld::Task::Decide(const std::shared_ptr<Run>& run) {
  const int64_t step_id = run->request.step_id;
  if (IsFencedFor(*run->session)) Cancel(run);
  const bool committed = run->commit->Decide().ok() || world_.has_bug(PlantedBug::kCommitsAfterAbort);
  if (!committed) return End(run, Code::kAborted);
  net_.Trace(id_, absl::StrCat("commits step ", step_id));
  Send(step_id, "decision");
  RunUpdates(run);
}

// WorkerStep::Cancel.
void CommitWorld::Task::Cancel(const std::shared_ptr<Run>& run) {
  if (run->has_ended) return;
  if (!Participates(*run)) return End(run, Code::kCancelled);
  const bool drops = world_.has_bug(PlantedBug::kDropsUpdates) && run->is_updating;
  const bool aborts = world_.has_bug(PlantedBug::kAbortsWhenReady) && !run->is_updating && !Decides(*run);
  if (drops || aborts) return End(run, Code::kCancelled);
  if (Decides(*run) && world_.has_bug(PlantedBug::kCommitsAfterAbort)) {
    outcomes_.IsCommittedElseAbort(run->request.session, run->request.step_id).status().IgnoreError();
    return;
  }
  run->commit->Cancel(errors::Cancelled("the step was cancelled"));
}

// The updates of each device take a while, and are not interrupted. The decision is known on the first device; the
// second waits for it along an edge.
void CommitWorld::Task::RunUpdates(const std::shared_ptr<Run>& run) {
  const bool is_dropped = world_.has_bug(PlantedBug::kAbortsWhenReady) && run->has_ended;
  if (is_dropped) return;
  run->is_updating = true;
  run->updating = world_.num_devices_;
  UpdateOn(run, 0);
  if (world_.num_devices_ == 1) return;
  const std::string device = absl::StrCat(Name(id_), "/device:CPU:");
  const std::string key = RendezvousKey::Create(device + "0", 1, device + "1", "decided", {});
  run->transfers->RecvAsync(
      key, {}, [this, run](const auto& received) { received.ok() ? UpdateOn(run, 1) : End(run, Code::kAborted); });
  net_.Post(id_, net_.random().In(1, 20),
            [run, key] { run->transfers->Send(key, Tensor::Scalar<bool>(true), false).IgnoreError(); });
}

void CommitWorld::Task::UpdateOn(const std::shared_ptr<Run>& run, int device) {
  net_.Post(id_, ComputeTime(), [this, run, device] {
    if (run->has_ended && world_.has_bug(PlantedBug::kDropsUpdates)) return;
    Apply(*run, device);
    if (--run->updating == 0) End(run, Code::kOk);
  });
}

void CommitWorld::Task::Apply(const Run& run, int device) {
  const RunRequest& request = run.request;
  if (request.kind == RunRequest::Kind::kSide) return;
  if (request.kind == RunRequest::Kind::kRestore) {
    if (device != 0) return;
    net_.Trace(id_, absl::StrCat("restores generation ", request.generation));
    generation_ = request.generation;
    is_initialized_ = true;
    for (auto& log : logs_) log = world_.checkpoint_;
    return;
  }
  // Assumption, see the test: what was computed from a lost generation updates no restored variables.
  if (run.generation != generation_) return;
  const Update update{request.client, request.number, request.step_id};
  net_.Trace(id_, absl::StrCat("applies step ", request.step_id, ", client ", request.client, " number ",
                               request.number, " on device ", device));
  world_.Applied(id_, logs_[device], update);
  logs_[device].push_back(update);
}

}  // namespace weir
