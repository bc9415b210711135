#include "master/master.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/logging.h"
#include "core/random_bits.h"
#include "core/threads/blocking_call.h"
#include "distribute/transport/lost_graph.h"
#include "master/journal/session_journal.h"

namespace weir {
namespace {

// The time for kernels that ignore the cancellation of their step to end.
constexpr absl::Duration kClosePatience = absl::Seconds(20);

std::string NewSessionHandle() { return absl::StrFormat("%016x", RandomBits()); }

// Whether the adoption of a session may succeed later, when its tasks are back.
bool MayPass(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) || absl::IsCancelled(status);
}

// The result of `run`, which is counted.
template <typename Run>
absl::StatusOr<RunStepResult> CountStep(StepMetrics* metrics, Run&& run) {
  const absl::Time start = metrics->Start();
  absl::StatusOr<RunStepResult> result = run();
  metrics->End(result.status().code(), start);
  return result;
}

CallOptions WithDefaultDeadline(CallOptions options, absl::Duration timeout) {
  options.deadline = std::min(options.deadline, MonotonicNow() + timeout);
  return options;
}

}  // namespace

Master::Master(Options options)
    : options_(std::move(options)), tracer_(options_.local_task, &timers_), start_(MonotonicNow()) {
  if (options_.journal != nullptr) {
    const std::vector<std::string> handles = options_.journal->Handles();
    recorded_.insert(handles.begin(), handles.end());
  }
  HealthMonitor::Options health = options_.health;
  health.running_steps = [this](absl::Time before) { return RunningSteps(before); };
  health_ = std::make_unique<HealthMonitor>(std::move(health));
}

Master::~Master() {
  absl::flat_hash_map<std::string, std::shared_ptr<MasterSession>> sessions;
  {
    MutexLock lock(mu_);
    sessions.swap(sessions_);
  }
  for (const auto& [handle, session] : sessions) session->CancelSteps();
  for (const auto& [handle, session] : sessions) session->Close().IgnoreError();
  health_.reset();
}

absl::StatusOr<std::shared_ptr<MasterSession>> Master::Find(const CallOptions& call, const std::string& handle) {
  ASSIGN_OR_RETURN(const std::shared_ptr<MasterSession> known, FindOrReserve(call, handle));
  if (known != nullptr) return known;
  const absl::StatusOr<std::shared_ptr<MasterSession>> session = Adopt(call, handle);
  const bool may_try_again = !session.ok() && MayPass(session.status());
  {
    MutexLock lock(mu_);
    adopting_.erase(handle);
    adopted_.notify_all();
    if (recorded_.count(handle) == 0) return SessionIsLost(handle);  // closed meanwhile
    if (may_try_again) return session;
    recorded_.erase(handle);
    if (session.ok()) {
      metrics_->sessions_adopted.Add();
      sessions_.emplace(handle, *session);
      return session;
    }
  }
  options_.journal->RemoveSession(handle);
  return session;
}

absl::StatusOr<std::shared_ptr<MasterSession>> Master::FindOrReserve(const CallOptions& call,
                                                                     const std::string& handle) {
  const absl::Time deadline = std::min(call.deadline, MonotonicNow() + options_.adoption_timeout);
  MutexLock lock(mu_);
  while (true) {
    if (auto it = sessions_.find(handle); it != sessions_.end()) return it->second;
    if (recorded_.count(handle) == 0) return SessionIsLost(handle);
    if (adopting_.insert(handle).second) return nullptr;
    if (lock.WaitUntil(adopted_, ToSteady(deadline)) == std::cv_status::timeout) {
      return errors::Unavailable("Session ", handle, " is still being taken over from an earlier master. Try again");
    }
  }
}

absl::StatusOr<std::shared_ptr<MasterSession>> Master::Adopt(const CallOptions& call, const std::string& handle) {
  const auto adopted = [&]() -> absl::StatusOr<std::shared_ptr<MasterSession>> {
    ASSIGN_OR_RETURN(const RecordedSession recorded, options_.journal->Load(handle));
    ASSIGN_OR_RETURN(const std::shared_ptr<MasterSession> session, NewSession(handle, recorded.request));
    RETURN_IF_ERROR(session->Restore(WithDefaultDeadline(call, options_.adoption_timeout), recorded));
    return session;
  };
  absl::StatusOr<std::shared_ptr<MasterSession>> session = adopted();
  if (session.ok()) {
    WEIR_LOG(INFO).With("session", handle) << "taken over from an earlier master";
    return session;
  }
  WEIR_LOG(WARNING).With("session", handle)
      << "cannot be taken over from an earlier master: " << session.status().message();
  const std::string reason =
      absl::StrCat("Session ", handle, " cannot be taken over from an earlier master: ", session.status().message());
  if (MayPass(session.status())) return absl::UnavailableError(reason);
  return Annotate(SessionIsLost(handle), reason);
}

std::vector<std::shared_ptr<MasterSession>> Master::OpenSessions() const {
  std::vector<std::shared_ptr<MasterSession>> sessions;
  MutexLock lock(mu_);
  for (const auto& [handle, session] : sessions_) sessions.push_back(session);
  return sessions;
}

absl::Status Master::HoldMove(absl::Time deadline) {
  for (const auto& session : OpenSessions()) RETURN_IF_ERROR(session->HoldMove(deadline));
  return absl::OkStatus();
}

void Master::EndStepsOfLostTasks(const MovedState& state) const {
  for (const std::shared_ptr<Step>& step : RunningSteps(absl::InfiniteFuture())) {
    const std::string lost = step->graph().LostTask(state);
    if (lost.empty()) continue;
    step->Fail(WithOrigin(errors::Unavailable("Task ", lost, " is lost, as the cluster's registrar has found"),
                          {.task = lost}));
  }
}

void Master::ListState(ListStateResponse* response) const {
  for (const auto& session : OpenSessions()) session->ListState(response);
}

std::vector<std::shared_ptr<Step>> Master::RunningSteps(absl::Time before) const {
  std::vector<std::shared_ptr<Step>> steps;
  for (const auto& session : OpenSessions()) {
    auto running = session->RunningSteps(before);
    steps.insert(steps.end(), running.begin(), running.end());
  }
  return steps;
}

absl::StatusOr<std::shared_ptr<MasterSession>> Master::NewSession(const std::string& handle,
                                                                  const tensorflow::CreateSessionRequest& request) {
  MasterSession::Options session_options;
  session_options.handle = handle;
  session_options.number = last_session_.fetch_add(1) + 1;
  session_options.metrics = metrics_.get();
  session_options.ops = options_.ops;
  session_options.kernels = options_.kernels;
  session_options.fold_on = options_.fold_on;
  session_options.mixed_precision = options_.mixed_precision;
  session_options.layout_costs = options_.layout_costs.get();
  session_options.step_sequences = options_.step_sequences;
  session_options.poller = options_.poller;
  session_options.tracer = &tracer_;
  session_options.timers = &timers_;
  session_options.journal = options_.journal;
  session_options.config = options_.default_config;
  session_options.config.MergeFrom(request.config());
  session_options.tasks = {
      .workers = options_.workers,
      .local_task = options_.local_task,
      .membership = options_.membership,
      .device_filters = {request.config().device_filters().begin(), request.config().device_filters().end()},
      .session_handle = session_options.handle,
      .isolate_session_state = request.config().isolate_session_state()};
  if (const auto& cluster = request.config().cluster_def(); options_.cluster_workers && !cluster.job().empty()) {
    ASSIGN_OR_RETURN(session_options.tasks.cluster,
                     SessionCluster::Find(cluster, request.target(), options_.local_task));
    session_options.tasks.local_task = session_options.tasks.cluster->local_task;
    ASSIGN_OR_RETURN(session_options.cluster_workers,
                     options_.cluster_workers(session_options.tasks.cluster->spec, session_options.tasks.local_task));
    session_options.tasks.workers = session_options.cluster_workers.get();
    session_options.tasks.membership = nullptr;
  }
  return std::make_shared<MasterSession>(std::move(session_options));
}

absl::Status Master::CreateSession(const CallOptions& options, const tensorflow::CreateSessionRequest& request,
                                   tensorflow::CreateSessionResponse* response) {
  ASSIGN_OR_RETURN(const std::shared_ptr<MasterSession> session, NewSession(NewSessionHandle(), request));
  RETURN_IF_ERROR(session->Create(WithDefaultDeadline(options, options_.connect_timeout), request.graph_def()));
  response->set_session_handle(session->handle());
  response->set_graph_version(session->graph_version());
  if (options_.journal != nullptr) {
    DropUnclaimed();
    if (absl::Status recorded = options_.journal->AddSession(session->handle(), request); !recorded.ok()) {
      WEIR_LOG(WARNING).With("session", session->handle())
          << recorded.message() << ". The session works, but will not outlive this master";
    }
  }
  metrics_->sessions_created.Add();
  MutexLock lock(mu_);
  sessions_.emplace(session->handle(), session);
  return absl::OkStatus();
}

// Their clients did not come back after the restart.
void Master::DropUnclaimed() {
  if (MonotonicNow() - start_ < options_.adoption_window) return;
  std::vector<std::string> unclaimed;
  {
    MutexLock lock(mu_);
    for (const std::string& handle : recorded_) {
      if (adopting_.count(handle) == 0) unclaimed.push_back(handle);
    }
    for (const std::string& handle : unclaimed) recorded_.erase(handle);
  }
  for (const std::string& handle : unclaimed) options_.journal->RemoveSession(handle);
}

absl::Status Master::ExtendSession(const CallOptions& options, const tensorflow::ExtendSessionRequest& request,
                                   tensorflow::ExtendSessionResponse* response) {
  ASSIGN_OR_RETURN(auto session, Find(options, request.session_handle()));
  return session->Extend(request, response);
}

absl::Status Master::PartialRunSetup(const CallOptions& options, const tensorflow::PartialRunSetupRequest& request,
                                     tensorflow::PartialRunSetupResponse* response) {
  ASSIGN_OR_RETURN(auto session, Find(options, request.session_handle()));
  return session->PartialRunSetup(options, request, response);
}

absl::StatusOr<RunStepResult> Master::RunStep(const CallOptions& options, const RunStepArgs& args) {
  return CountStep(&metrics_->steps, [&]() -> absl::StatusOr<RunStepResult> {
    ASSIGN_OR_RETURN(auto session, Find(options, args.session_handle));
    return session->Run(options, args);
  });
}

absl::Status Master::CloseSession(const CallOptions& options, const tensorflow::CloseSessionRequest& request,
                                  tensorflow::CloseSessionResponse* response) {
  const std::string& handle = request.session_handle();
  std::shared_ptr<MasterSession> session;
  {
    MutexLock lock(mu_);
    auto it = sessions_.find(handle);
    if (it != sessions_.end()) {
      session = std::move(it->second);
      sessions_.erase(it);
    } else if (recorded_.erase(handle) == 0) {
      return SessionIsLost(handle);
    }
  }
  absl::Status closed;
  if (session != nullptr) closed = session->Close(kClosePatience);
  if (options_.journal != nullptr) options_.journal->RemoveSession(handle);
  return closed;
}

absl::Status Master::ListDevices(const CallOptions& options, const tensorflow::ListDevicesRequest& request,
                                 tensorflow::ListDevicesResponse* response) {
  std::vector<tensorflow::DeviceAttributes> devices;
  std::string local_task = options_.local_task;
  if (!request.session_handle().empty()) {
    ASSIGN_OR_RETURN(auto session, Find(options, request.session_handle()));
    devices = session->tasks().Devices();
    local_task = session->tasks().local_task();
  } else {
    SessionTasks tasks({.workers = options_.workers, .local_task = options_.local_task});
    ASSIGN_OR_RETURN(devices, tasks.Probe(WithDefaultDeadline(options, absl::Seconds(10))));
  }
  for (auto& device : devices) {
    auto name = DeviceName::ParseFull(device.name());
    const bool local = name.ok() && name->TaskName() == local_task;
    *(local ? response->add_local_device() : response->add_remote_device()) = std::move(device);
  }
  return absl::OkStatus();
}

absl::Status Master::Reset(const CallOptions& options, const tensorflow::ResetRequest& request,
                           tensorflow::ResetResponse* response) {
  absl::flat_hash_map<std::string, std::shared_ptr<MasterSession>> sessions;
  absl::flat_hash_set<std::string> recorded;
  {
    MutexLock lock(mu_);
    sessions.swap(sessions_);
    recorded.swap(recorded_);
  }
  absl::Status closed;
  // All end their steps during one and the same time.
  for (const auto& [handle, session] : sessions) session->CancelSteps();
  const absl::Time end = MonotonicNow() + kClosePatience;
  for (const auto& [handle, session] : sessions) {
    closed.Update(session->Close(std::max(end - MonotonicNow(), absl::ZeroDuration())));
    recorded.insert(handle);
  }
  if (options_.journal != nullptr) {
    for (const std::string& handle : recorded) options_.journal->RemoveSession(handle);
  }
  SessionTasks tasks({.workers = options_.workers,
                      .local_task = options_.local_task,
                      .device_filters = {request.device_filters().begin(), request.device_filters().end()}});
  closed.Update(tasks.CleanupAll(WithDefaultDeadline(options, absl::Seconds(30)),
                                 {request.container().begin(), request.container().end()}));
  return closed;
}

void Master::EndPartialRuns(const std::string& session_handle) {
  std::shared_ptr<MasterSession> session;
  {
    MutexLock lock(mu_);
    const auto it = sessions_.find(session_handle);
    if (it == sessions_.end()) return;
    session = it->second;
  }
  session->EndPartialRuns();
}

absl::Status Master::MakeCallable(const CallOptions& options, const tensorflow::MakeCallableRequest& request,
                                  tensorflow::MakeCallableResponse* response) {
  ASSIGN_OR_RETURN(auto session, Find(options, request.session_handle()));
  return session->MakeCallable(options, request, response);
}

absl::StatusOr<RunStepResult> Master::RunCallable(const CallOptions& options, const RunCallableArgs& args) {
  return CountStep(&metrics_->steps, [&]() -> absl::StatusOr<RunStepResult> {
    ASSIGN_OR_RETURN(auto session, Find(options, args.session_handle));
    return session->RunCallable(options, args);
  });
}

absl::Status Master::ReleaseCallable(const CallOptions& options, const tensorflow::ReleaseCallableRequest& request,
                                     tensorflow::ReleaseCallableResponse* response) {
  ASSIGN_OR_RETURN(auto session, Find(options, request.session_handle()));
  return session->ReleaseCallable(request.handle());
}

}  // namespace weir
