#include "master/master.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/random_bits.h"
#include "master/blocking_call.h"

namespace weir {
namespace {

// For kernels that ignore the cancellation of their step.
constexpr absl::Duration kClosePatience = absl::Seconds(20);

std::string NewSessionHandle() { return absl::StrFormat("%016x", RandomBits()); }

CallOptions WithDefaultDeadline(CallOptions options, absl::Duration timeout) {
  options.deadline = std::min(options.deadline, MonotonicNow() + timeout);
  return options;
}

}  // namespace

Master::Master(Options options) : options_(std::move(options)) {
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
  for (const auto& [handle, session] : sessions) session->Close().IgnoreError();
  health_.reset();
}

absl::StatusOr<std::shared_ptr<MasterSession>> Master::Find(const std::string& handle) const {
  MutexLock lock(mu_);
  auto it = sessions_.find(handle);
  if (it == sessions_.end()) {
    return errors::Aborted("Session ", handle, " is not found. Possibly, this master has restarted.");
  }
  return it->second;
}

std::vector<std::shared_ptr<Step>> Master::RunningSteps(absl::Time before) const {
  std::vector<std::shared_ptr<MasterSession>> sessions;
  {
    MutexLock lock(mu_);
    for (const auto& [handle, session] : sessions_) sessions.push_back(session);
  }
  std::vector<std::shared_ptr<Step>> steps;
  for (const auto& session : sessions) {
    auto running = session->RunningSteps(before);
    steps.insert(steps.end(), running.begin(), running.end());
  }
  return steps;
}

absl::Status Master::CreateSession(const CallOptions& options, const tensorflow::CreateSessionRequest& request,
                                   tensorflow::CreateSessionResponse* response) {
  MasterSession::Options session_options;
  session_options.handle = NewSessionHandle();
  session_options.ops = options_.ops;
  session_options.kernels = options_.kernels;
  session_options.fold_on = options_.fold_on;
  session_options.mixed_precision = options_.mixed_precision;
  session_options.layout_costs = options_.layout_costs.get();
  session_options.step_sequences = options_.step_sequences;
  session_options.poller = options_.poller;
  session_options.timers = &timers_;
  session_options.config = options_.default_config;
  session_options.config.MergeFrom(request.config());
  session_options.tasks = {
      .workers = options_.workers,
      .local_task = options_.local_task,
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
  }
  auto session = std::make_shared<MasterSession>(std::move(session_options));
  RETURN_IF_ERROR(session->Create(WithDefaultDeadline(options, options_.connect_timeout), request.graph_def()));
  response->set_session_handle(session->handle());
  response->set_graph_version(session->graph_version());
  MutexLock lock(mu_);
  sessions_.emplace(session->handle(), std::move(session));
  return absl::OkStatus();
}

absl::Status Master::ExtendSession(const CallOptions& options, const tensorflow::ExtendSessionRequest& request,
                                   tensorflow::ExtendSessionResponse* response) {
  ASSIGN_OR_RETURN(auto session, Find(request.session_handle()));
  return session->Extend(request, response);
}

absl::Status Master::PartialRunSetup(const CallOptions& options, const tensorflow::PartialRunSetupRequest& request,
                                     tensorflow::PartialRunSetupResponse* response) {
  ASSIGN_OR_RETURN(auto session, Find(request.session_handle()));
  return session->PartialRunSetup(options, request, response);
}

absl::StatusOr<RunStepResult> Master::RunStep(const CallOptions& options, const RunStepArgs& args) {
  ASSIGN_OR_RETURN(auto session, Find(args.session_handle));
  return session->Run(options, args);
}

absl::Status Master::CloseSession(const CallOptions& options, const tensorflow::CloseSessionRequest& request,
                                  tensorflow::CloseSessionResponse* response) {
  std::shared_ptr<MasterSession> session;
  {
    MutexLock lock(mu_);
    auto it = sessions_.find(request.session_handle());
    if (it == sessions_.end()) {
      return errors::Aborted("Session ", request.session_handle(),
                             " is not found. Possibly, this master has restarted.");
    }
    session = std::move(it->second);
    sessions_.erase(it);
  }
  return session->Close(kClosePatience);
}

absl::Status Master::ListDevices(const CallOptions& options, const tensorflow::ListDevicesRequest& request,
                                 tensorflow::ListDevicesResponse* response) {
  std::vector<tensorflow::DeviceAttributes> devices;
  std::string local_task = options_.local_task;
  if (!request.session_handle().empty()) {
    ASSIGN_OR_RETURN(auto session, Find(request.session_handle()));
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
  {
    MutexLock lock(mu_);
    sessions.swap(sessions_);
  }
  absl::Status closed;
  for (const auto& [handle, session] : sessions) closed.Update(session->Close(kClosePatience));
  SessionTasks tasks({.workers = options_.workers,
                      .local_task = options_.local_task,
                      .device_filters = {request.device_filters().begin(), request.device_filters().end()}});
  closed.Update(tasks.CleanupAll(WithDefaultDeadline(options, absl::Seconds(30)),
                                 {request.container().begin(), request.container().end()}));
  return closed;
}

void Master::EndPartialRuns(const std::string& session_handle) {
  if (const auto session = Find(session_handle); session.ok()) (*session)->EndPartialRuns();
}

absl::Status Master::MakeCallable(const CallOptions& options, const tensorflow::MakeCallableRequest& request,
                                  tensorflow::MakeCallableResponse* response) {
  ASSIGN_OR_RETURN(auto session, Find(request.session_handle()));
  return session->MakeCallable(options, request, response);
}

absl::StatusOr<RunStepResult> Master::RunCallable(const CallOptions& options, const RunCallableArgs& args) {
  ASSIGN_OR_RETURN(auto session, Find(args.session_handle));
  return session->RunCallable(options, args);
}

absl::Status Master::ReleaseCallable(const CallOptions& options, const tensorflow::ReleaseCallableRequest& request,
                                     tensorflow::ReleaseCallableResponse* response) {
  ASSIGN_OR_RETURN(auto session, Find(request.session_handle()));
  return session->ReleaseCallable(request.handle());
}

}  // namespace weir
