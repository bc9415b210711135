// A worker's sessions: how they begin, and how they and their steps end, at a master's request or without their master.
#include <algorithm>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/device/incarnation.h"
#include "core/logging.h"
#include "distribute/cluster/cluster_spec.h"
#include "distribute/transport/lost_graph.h"
#include "graph/passes/step_commit.h"
#include "worker/answer_in_time.h"
#include "worker/worker.h"

namespace weir {
namespace {

MasterWatch::Master MasterOf(const WorkerSession& session) {
  const WorkerSession::Options& options = session.options();
  return {options.master_task, static_cast<uint64_t>(options.master_incarnation)};
}

// Of a session with a cluster of its own: its tasks have other names than those by which calls are passed on.
class UnreachableFunctions : public PythonFunctions {
 public:
  void CallAsync(PythonFunctionCall, CancellationManager*, DoneCallback done) override {
    done(errors::Unimplemented("A session with a cluster_def of its own cannot call functions in the client's Python: ",
                               "start the servers with the whole cluster, and open the session without a cluster_def"));
  }
};

PythonFunctionsOf WithoutCalls(PythonFunctionsOf python) {
  if (!python) return nullptr;
  return [python = std::move(python)](
             const tensorflow::GraphOptions& options) -> absl::StatusOr<std::shared_ptr<PythonFunctions>> {
    ASSIGN_OR_RETURN(const std::shared_ptr<PythonFunctions> functions, python(options));
    if (functions == nullptr) return nullptr;
    return std::make_shared<UnreachableFunctions>();
  };
}

}  // namespace

void Worker::WatchMasters() {
  waits_ = std::make_unique<WaitWatch>(
      WaitWatch::Options{.local_task = options_.task,
                         .find = options_.peers,
                         .users = [this] { return Users(); },
                         .master_of = [this](const std::string& session) -> std::optional<MasterWatch::Master> {
                           const auto found = FindSession(session);
                           if (!found.ok()) return std::nullopt;
                           return MasterOf(**found);
                         },
                         .sessions_of =
                             [this](const std::string& master) {
                               absl::flat_hash_set<std::string> handles;
                               for (const auto& session : SessionsOf(master)) handles.insert(session->options().handle);
                               return handles;
                             },
                         .steps_of =
                             [this](const std::string& session) {
                               const auto found = FindSession(session);
                               return found.ok() ? (*found)->StepIds() : std::vector<int64_t>();
                             },
                         .fail =
                             [this](const std::string& session, int64_t step_id, const absl::Status& reason) {
                               const std::vector<int64_t> ids = {step_id};
                               if (const auto found = FindSession(session); found.ok())
                                 (*found)->EndSteps(&ids, reason, [] {});
                             }});
  masters_ = std::make_unique<MasterWatch>(MasterWatch::Options{
      .lease = options_.master_lease,
      .find = options_.peers,
      .masters = [this] { return OtherMasters(); },
      .gone = [this](const MasterWatch::Master& master, const std::string& reason) { MasterIsGone(master, reason); }});
}

absl::StatusOr<std::shared_ptr<WorkerSession>> Worker::NewSession(
    const tensorflow::CreateWorkerSessionRequest& request) const {
  WorkerSession::Options session{.handle = request.session_handle(),
                                 .master_task = request.master_task(),
                                 .master_incarnation = request.master_incarnation(),
                                 .isolate_state = request.isolate_session_state(),
                                 .deterministic = options_.deterministic,
                                 .task = task_,
                                 .devices = options_.devices,
                                 .remote_rendezvous = options_.remote_rendezvous,
                                 .kernels = options_.kernels,
                                 .python = options_.python};
  const tensorflow::ServerDef& server = request.server_def();
  if (server.cluster().job().empty()) return std::make_shared<WorkerSession>(std::move(session));
  if (!options_.cluster_rendezvous) {
    return errors::Unimplemented("Task ", options_.task, " serves no session with a cluster of its own");
  }
  ASSIGN_OR_RETURN(const ClusterSpec cluster, ClusterSpec::FromProto(server.cluster()));
  RETURN_IF_ERROR(cluster.AddressOf(server.job_name(), server.task_index()).status());
  const std::string task = TaskName(server.job_name(), server.task_index());
  ASSIGN_OR_RETURN(session.task, DeviceName::Parse(task));
  ASSIGN_OR_RETURN(session.remote_rendezvous, options_.cluster_rendezvous(cluster, task));
  session.python = WithoutCalls(std::move(session.python));
  session.isolate_state = true;  // its devices have other names
  return std::make_shared<WorkerSession>(std::move(session));
}

absl::StatusOr<std::shared_ptr<WorkerSession>> Worker::FindSession(const std::string& handle) const {
  MutexLock lock(mu_);
  auto it = sessions_.find(handle);
  if (it != sessions_.end()) return it->second;
  return WorkerSessionIsLost(handle, options_.task);
}

absl::StatusOr<std::vector<std::shared_ptr<WorkerSession>>> Worker::FindSessions(const std::string& handle) const {
  std::vector<std::shared_ptr<WorkerSession>> sessions;
  MutexLock lock(mu_);
  if (const auto open = sessions_.find(handle); open != sessions_.end()) sessions.push_back(open->second);
  for (const auto& ended : ended_) {
    if (auto session = ended.lock(); session != nullptr && session->options().handle == handle) {
      sessions.push_back(std::move(session));
    }
  }
  if (sessions.empty()) return WorkerSessionIsLost(handle, options_.task);
  return sessions;
}

std::shared_ptr<WorkerSession> Worker::Retire(
    absl::flat_hash_map<std::string, std::shared_ptr<WorkerSession>>::iterator it) {
  std::shared_ptr<WorkerSession> session = std::move(it->second);
  sessions_.erase(it);
  ended_.erase(std::remove_if(ended_.begin(), ended_.end(), [](const auto& ended) { return ended.expired(); }),
               ended_.end());
  ended_.push_back(session);
  outcomes_.Close(session->options().handle);
  return session;
}

void Worker::EndSession(const std::shared_ptr<WorkerSession>& session) {
  session->End();
  std::vector<std::shared_ptr<PartialRun>> ended;  // destroyed without the lock
  for (const int64_t step_id : steps_.CleanupOf(session.get())) {
    MutexLock lock(mu_);
    const auto run = partial_runs_.find(step_id);
    if (run == partial_runs_.end()) continue;
    ended.push_back(std::move(run->second));
    partial_runs_.erase(run);
  }
}

std::vector<WorkerSessionSummary> Worker::Sessions() const {
  std::vector<std::shared_ptr<WorkerSession>> sessions;
  {
    MutexLock lock(mu_);
    for (const auto& [handle, session] : sessions_) {
      if (!handle.empty()) sessions.push_back(session);
    }
  }
  std::vector<WorkerSessionSummary> summaries;
  for (const auto& session : sessions) {
    summaries.push_back({.master = session->options().master_task,
                         .graphs = session->num_graphs(),
                         .running_steps = session->StepIds().size()});
  }
  return summaries;
}

std::vector<MasterWatch::Master> Worker::OtherMasters() const {
  std::vector<MasterWatch::Master> masters;
  MutexLock lock(mu_);
  for (const auto& [handle, session] : sessions_) {
    if (!handle.empty() && IsOfOtherMaster(*session)) masters.push_back(MasterOf(*session));
  }
  return masters;
}

std::vector<std::shared_ptr<ResourceUsers>> Worker::Users() const {
  std::vector<std::shared_ptr<ResourceUsers>> found;
  for (Device* device : options_.devices) {
    if (auto users = ResourceUsers::Find(*device->resources()); users != nullptr) found.push_back(std::move(users));
  }
  return found;
}

std::vector<std::shared_ptr<WorkerSession>> Worker::SessionsOf(const std::string& master) const {
  std::vector<std::shared_ptr<WorkerSession>> sessions;
  MutexLock lock(mu_);
  for (const auto& [handle, session] : sessions_) {
    if (session->options().master_task == master) sessions.push_back(session);
  }
  return sessions;
}

void Worker::MasterIsGone(const MasterWatch::Master& master, const std::string& reason) {
  std::vector<std::shared_ptr<WorkerSession>> orphans;
  {
    MutexLock lock(mu_);
    for (auto it = sessions_.begin(); it != sessions_.end();) {
      const auto current = it++;
      const WorkerSession::Options& known = current->second->options();
      if (known.master_task != master.task || static_cast<uint64_t>(known.master_incarnation) != master.incarnation) {
        continue;
      }
      orphans.push_back(Retire(current));
    }
  }
  if (orphans.empty()) return;
  metrics_->sessions_orphaned.Add(orphans.size());
  WEIR_LOG(WARNING).With("master", master.task) << "ending " << orphans.size() << " sessions, because " << reason;
  for (const auto& orphan : orphans) {
    if (waits_ != nullptr) waits_->SessionIsLost(orphan->options().handle, master, reason);
    EndSession(orphan);
  }
}

void Worker::StoodStill(absl::Duration gap) {
  std::vector<std::shared_ptr<WorkerSession>> sessions;
  {
    MutexLock lock(mu_);
    for (const auto& [handle, session] : sessions_) {
      if (IsOfOtherMaster(*session)) sessions.push_back(session);
    }
  }
  WEIR_LOG(WARNING) << "The process was suspended for " << absl::FormatDuration(gap)
                    << "; cancelling the steps of other masters";
  const absl::Status reason = WithOrigin(
      errors::Unavailable("The task was suspended for ", absl::FormatDuration(gap), " and cancelled its steps"),
      {.task = options_.task});
  for (const auto& session : sessions) session->CancelSteps(reason);
}

void Worker::FenceStepsAsync(const CallOptions& options, const FenceStepsRequest* request, FenceStepsResponse*,
                             DoneCallback done) {
  if (request->step_id_size() > kMaxFencedSteps) {
    return done(errors::InvalidArgument("FenceSteps of ", request->step_id_size(), " steps, at most ", kMaxFencedSteps,
                                        " are taken at a time"));
  }
  const std::string& handle = request->session_handle();
  const auto found = FindSessions(handle);
  if (!found.ok()) return done(found.status());
  const std::vector<std::shared_ptr<WorkerSession>>& sessions = *found;
  const std::vector<int64_t> ids(request->step_id().begin(), request->step_id().end());
  // A step that has not begun here must never begin: this task refuses its commit, even once it has forgotten the
  // outcome.
  for (const int64_t id : ids) outcomes_.IsCommittedElseAbort(handle, id).status().IgnoreError();
  const auto late = [this, sessions, ids] { return StillRunning(sessions, &ids); };
  const std::shared_ptr<void> answer = AnswerInTime(options_.timers, options.deadline, late, std::move(done));
  for (const auto& session : sessions) {
    session->EndSteps(&ids, errors::Aborted("The master has given up the step"), [answer] {});
  }
}

absl::Status Worker::StillRunning(const std::vector<std::shared_ptr<WorkerSession>>& sessions,
                                  const std::vector<int64_t>* step_ids) const {
  absl::btree_set<std::string> steps;
  for (const auto& session : sessions) {
    const std::vector<int64_t> running = session->StepIds();
    for (const StepWait& wait : session->WaitsOf(step_ids != nullptr ? *step_ids : running)) {
      steps.insert(absl::StrCat("step ", wait.step_id(), " in node '", wait.node(), "' (", wait.op(), ")"));
    }
  }
  return WithOrigin(errors::DeadlineExceeded("Steps that were given up have not ended on ", options_.task,
                                             steps.empty() ? "" : ": ", absl::StrJoin(steps, ", ")),
                    {.task = options_.task});
}

// The answer comes once no step of the master's earlier sessions can take effect.
void Worker::CreateWorkerSessionAsync(const CallOptions& options, const tensorflow::CreateWorkerSessionRequest* request,
                                      tensorflow::CreateWorkerSessionResponse*, DoneCallback done) {
  std::vector<std::shared_ptr<WorkerSession>> orphans;
  if (absl::Status created = CreateWorkerSession(*request, &orphans); !created.ok()) return done(std::move(created));
  const auto late = [this, orphans] { return StillRunning(orphans, nullptr); };
  const std::shared_ptr<void> answer = AnswerInTime(options_.timers, options.deadline, late, std::move(done));
  if (waits_ != nullptr) waits_->SessionIsOpen(request->session_handle());
  for (const auto& orphan : orphans) {
    const std::string& handle = orphan->options().handle;
    if (waits_ != nullptr && handle != request->session_handle()) {
      waits_->SessionIsLost(handle, MasterOf(*orphan), "it has restarted");
    }
    EndSession(orphan);
    orphan->EndSteps(nullptr, errors::Cancelled("The session was closed"), [answer] {});
  }
}

absl::Status Worker::CheckMasterIsCurrent(const tensorflow::CreateWorkerSessionRequest& request) const {
  if (request.master_task().empty()) return absl::OkStatus();
  const auto asking = static_cast<uint64_t>(request.master_incarnation());
  for (const auto& [handle, session] : sessions_) {
    const WorkerSession::Options& known = session->options();
    const auto current = static_cast<uint64_t>(known.master_incarnation);
    if (known.master_task != request.master_task() || !IsEarlierIncarnation(asking, current)) continue;
    return errors::Unavailable("Task ", options_.task, " has a session of a later start of ", request.master_task(),
                               " (incarnation ", absl::Hex(current), ", this request's ", absl::Hex(asking),
                               "), so it takes this one for a request from before a restart. If the clock of that "
                               "task's machine was set back, the session can be created within seconds");
  }
  return absl::OkStatus();
}

absl::Status Worker::CreateWorkerSession(const tensorflow::CreateWorkerSessionRequest& request,
                                         std::vector<std::shared_ptr<WorkerSession>>* orphans) {
  if (request.session_handle().empty()) return errors::InvalidArgument("CreateWorkerSession needs a session handle");
  ASSIGN_OR_RETURN(std::shared_ptr<WorkerSession> created, NewSession(request));
  std::vector<std::shared_ptr<WorkerSession>> removed;  // destroyed without the lock
  MutexLock lock(mu_);
  RETURN_IF_ERROR(CheckMasterIsCurrent(request));
  // Before the look-up: a master that restarted with its journal opens its sessions again.
  removed = OrphanSessionsOf(request.master_task(), request.master_incarnation());
  if (auto it = sessions_.find(request.session_handle()); it != sessions_.end()) {
    const WorkerSession::Options& known = it->second->options();
    if (known.master_task != request.master_task() || known.master_incarnation != request.master_incarnation() ||
        known.isolate_state != created->options().isolate_state || known.task != created->options().task) {
      return errors::AlreadyExists("Session ", request.session_handle(), " already exists on ", options_.task);
    }
  } else {
    metrics_->sessions_created.Add();
    outcomes_.Open(request.session_handle());
    sessions_.emplace(request.session_handle(), std::move(created));
  }
  // A retry waits for them too.
  for (const auto& orphan : ended_) {
    auto session = orphan.lock();
    if (session != nullptr && session->options().master_task == request.master_task() &&
        session->options().master_incarnation != request.master_incarnation()) {
      orphans->push_back(std::move(session));
    }
  }
  return absl::OkStatus();
}

// A restarted master has forgotten its earlier sessions.
std::vector<std::shared_ptr<WorkerSession>> Worker::OrphanSessionsOf(const std::string& master, int64_t incarnation) {
  std::vector<std::shared_ptr<WorkerSession>> removed;
  for (auto it = sessions_.begin(); it != sessions_.end();) {
    const WorkerSession::Options& known = it->second->options();
    const bool is_orphan = !master.empty() && known.master_task == master && known.master_incarnation != incarnation;
    const auto current = it++;
    if (is_orphan) removed.push_back(Retire(current));
  }
  metrics_->sessions_orphaned.Add(removed.size());
  return removed;
}

void Worker::DeleteWorkerSessionAsync(const CallOptions&, const tensorflow::DeleteWorkerSessionRequest* request,
                                      tensorflow::DeleteWorkerSessionResponse*, DoneCallback done) {
  std::shared_ptr<WorkerSession> session;
  {
    MutexLock lock(mu_);
    auto it = request->session_handle().empty() ? sessions_.end() : sessions_.find(request->session_handle());
    if (it != sessions_.end()) session = Retire(it);
  }
  if (session != nullptr) {
    for (const auto& users : Users()) users->Forget(session->options().handle);
    EndSession(session);
  }
  done(absl::OkStatus());
}

}  // namespace weir
