#include "worker/worker.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "core/clock.h"
#include "core/memory/out_of_memory.h"
#include "core/wire/wire_options.h"
#include "distribute/transport/answer_margin.h"
#include "distribute/transport/lost_graph.h"
#include "graph/passes/step_commit.h"
#include "kernels/control/session_tensors.h"
#include "tensorflow/core/framework/device_attributes.pb.h"
#include "worker/registered_graph.h"

namespace weir {
namespace {

constexpr size_t kKeptStats = 64;

// Orders `values` by position: unchanged if `indices` is empty, else each at its index. Every position must occur
// exactly once.
absl::StatusOr<std::vector<Tensor>> ByPosition(const std::vector<Tensor>& values, const std::vector<int>& indices,
                                               size_t num_positions) {
  if (values.size() != num_positions || (!indices.empty() && indices.size() != values.size())) {
    return errors::InvalidArgument("The graph takes ", num_positions, " feeds but ", values.size(), " were given");
  }
  if (indices.empty()) return values;
  std::vector<Tensor> placed(num_positions);
  std::vector<bool> is_placed(num_positions, false);
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < 0 || indices[i] >= num_positions || is_placed[indices[i]]) {
      return errors::InvalidArgument("Feed index ", indices[i], " is out of range or given twice");
    }
    is_placed[indices[i]] = true;
    placed[indices[i]] = values[i];
  }
  return placed;
}

absl::Status ChooseFetches(const std::vector<int>& indices, RunGraphResult* result) {
  if (indices.empty()) return absl::OkStatus();
  std::vector<Tensor> chosen;
  for (int i : indices) {
    if (i < 0 || i >= result->fetches.size()) return errors::InvalidArgument("There is no fetch ", i);
    chosen.push_back(result->fetches[i]);
  }
  result->fetches = std::move(chosen);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Worker>> Worker::Create(Options options) {
  if (options.devices.empty()) return errors::InvalidArgument("A worker needs a device");
  if (options.ops == nullptr || options.kernels == nullptr) {
    return errors::InvalidArgument("A worker needs registries of ops and kernels");
  }
  for (const Device* device : options.devices) {
    if (device->parsed_name().TaskName() == options.task) continue;
    return errors::InvalidArgument("Device ", device->name(), " is not on task ", options.task);
  }
  return std::unique_ptr<Worker>(new Worker(std::move(options)));
}

Worker::~Worker() {
  is_ending_ = true;
  masters_.reset();
  waits_.reset();
  absl::flat_hash_map<std::string, std::shared_ptr<WorkerSession>> sessions;
  absl::flat_hash_map<int64_t, std::shared_ptr<PartialRun>> partial_runs;
  {
    MutexLock lock(mu_);
    sessions.swap(sessions_);
    partial_runs.swap(partial_runs_);
  }
  for (auto& [handle, session] : sessions) EndSession(session);
  partial_runs.clear();
  steps_.End();  // RecvTensor may wait in steps that no session has begun
  active_.Wait();
}

Worker::Worker(Options options) : options_(std::move(options)), task_(options_.devices.front()->parsed_name()) {
  // For graphs of masters that open no session.
  outcomes_.Open("");
  sessions_.emplace("", NewSession(tensorflow::CreateWorkerSessionRequest()).value());
  if (options_.peers) WatchMasters();
  if (!options_.fences_suspensions) return;
  suspension_ = std::make_unique<SuspensionWatch>(
      SuspensionWatch::Options{.returned = [this](absl::Duration gap) { StoodStill(gap); }});
}

void Worker::GetStatusAsync(const CallOptions&, const tensorflow::GetStatusRequest*,
                            tensorflow::GetStatusResponse* response, DoneCallback done) {
  for (const Device* device : options_.devices) device->ToProto(response->add_device_attributes());
  done(absl::OkStatus());
}

void Worker::GetCapabilitiesAsync(const CallOptions&, const GetCapabilitiesRequest* request,
                                  GetCapabilitiesResponse* response, DoneCallback done) {
  if (options_.membership != nullptr && request->has_view()) {
    const absl::Status adopted = options_.membership->Adopt(request->view()).status();
    if (!adopted.ok()) return done(WithOrigin(adopted, {.task = options_.task}));
    *response->mutable_view() = options_.membership->Get()->view;
  }
  response->set_wire_version(kWireVersion);
  response->set_commit_version(options_.timers != nullptr ? kCommitVersion : 0);
  response->set_incarnation(incarnation());
  done(absl::OkStatus());
}

void Worker::ResolveStepAsync(const CallOptions&, const ResolveStepRequest* request, ResolveStepResponse* response,
                              DoneCallback done) {
  const absl::StatusOr<bool> committed = outcomes_.IsCommittedElseAbort(request->session_handle(), request->step_id());
  if (!committed.ok()) return done(WithOrigin(committed.status(), {.task = options_.task}));
  if (*committed && !request->relay().empty() && !state_.IsReplaced(request->relay())) {
    return done(WithOrigin(errors::Unavailable("Step ", request->step_id(), " is committed, as far as ", options_.task,
                                               " knows, but ", request->relay(), " may not have heard of it"),
                           {.task = options_.task}));
  }
  response->set_incarnation(incarnation());
  response->set_committed(*committed);
  done(absl::OkStatus());
}

std::vector<StepWait> Worker::Waits() const {
  std::vector<std::shared_ptr<WorkerSession>> sessions;
  {
    MutexLock lock(mu_);
    for (const auto& [handle, session] : sessions_) sessions.push_back(session);
    for (const auto& ended : ended_) {
      if (auto session = ended.lock(); session != nullptr) sessions.push_back(std::move(session));
    }
  }
  std::vector<StepWait> waits;
  for (const auto& session : sessions) {
    for (StepWait& wait : session->WaitsOf(session->StepIds())) waits.push_back(std::move(wait));
  }
  return waits;
}

void Worker::GetStepWaitsAsync(const CallOptions&, const GetStepWaitsRequest* request, GetStepWaitsResponse* response,
                               DoneCallback done) {
  const auto session = FindSession(request->session_handle());
  if (!session.ok()) return done(session.status());
  const std::vector<int64_t> ids(request->step_id().begin(), request->step_id().end());
  for (StepWait& wait : (*session)->WaitsOf(ids)) *response->add_wait() = std::move(wait);
  done(absl::OkStatus());
}

void Worker::RegisterGraphAsync(const CallOptions& options, std::shared_ptr<const RegisterGraphArgs> args,
                                ResultCallback<std::string> done) {
  auto session = FindSession(args->request.session_handle());
  if (!session.ok()) return done(session.status());
  auto graph =
      OrOutOfMemory([&] { return RegisteredGraph::Create(std::move(args), *options_.ops, *session, options); });
  if (!graph.ok()) return done(WithOrigin(graph.status(), {.task = (*session)->options().task.TaskName()}));
  metrics_->graphs_registered.Add();
  state_.Add((*graph)->state_uses());
  done((*session)->AddGraph(*std::move(graph)));
}

void Worker::DeregisterGraphAsync(const CallOptions&, const tensorflow::DeregisterGraphRequest* request,
                                  tensorflow::DeregisterGraphResponse*, DoneCallback done) {
  auto session = FindSession(request->session_handle());
  if (!session.ok()) return done(session.status());
  const bool was_there = (*session)->RemoveGraph(request->graph_handle());
  done(was_there ? absl::OkStatus() : GraphIsLost(request->graph_handle()));
}

absl::StatusOr<WorkerStep::Options> Worker::StepOptions(const CallOptions& options, const RunGraphArgs& args) {
  WorkerStep::Options step;
  ASSIGN_OR_RETURN(step.session, FindSession(args.session_handle));
  step.graph = step.session->FindGraph(args.graph_handle);
  if (step.graph == nullptr) {
    return GraphIsLost(args.graph_handle);
  }
  if (suspension_ != nullptr && IsOfOtherMaster(*step.session)) {
    step.suspension = suspension_.get();
    RETURN_IF_ERROR(suspension_->Check());
  }
  ASSIGN_OR_RETURN(step.state_use, state_.Enter(step.graph->state_uses()));
  step.units = &step.graph->units();
  step.step_id = args.step_id;
  step.exec_opts = args.exec_opts;
  step.cancellation = options.cancellation;
  step.deadline = options.deadline - AnswerMargin(options.deadline - MonotonicNow());
  step.caller_waits = args.caller_waits;
  step.timers = options_.timers;
  step.active = &active_;
  if (step.graph->commit_role().has_value()) {
    step.task = options_.task;
    step.outcomes = &outcomes_;
    step.peers = options_.peers;
    step.is_ending = &is_ending_;
    step.has_lost_standby = [this](const std::string& standby) { return state_.HasLostStandby(standby); };
  }
  if (step.graph->has_collectives() && options_.collectives != nullptr) {
    step.collectives = options_.collectives->NewStep(args.step_id, step.graph->collective_leader(), step.deadline);
  }
  if (step.collectives != nullptr || step.graph->has_remote_receives()) step.poller = options_.poller;
  return step;
}

void Worker::RunGraphAsync(const CallOptions& options, std::shared_ptr<const RunGraphArgs> args,
                           ResultCallback<RunGraphResult> done) {
  const absl::Time start = metrics_->steps.Start();
  auto step = StepOptions(options, *args);
  if (!step.ok()) {
    metrics_->steps.End(step.status().code(), start);
    return done(WithOrigin(step.status(), {.task = options_.task}));
  }
  if (!args->is_partial) return RunWhole(std::move(args), *std::move(step), start, std::move(done));
  RunPartial(options, std::move(args), *std::move(step),
             [metrics = metrics_, start, done = std::move(done)](absl::StatusOr<RunGraphResult> result) {
               metrics->steps.End(result.status().code(), start);
               done(std::move(result));
             });
}

absl::StatusOr<StepRendezvous> Worker::OpenStep(int64_t step_id, const WorkerSession& session) {
  auto rendezvous = steps_.FindOrCreate(step_id, session.options().remote_rendezvous, &session);
  if (!session.has_ended()) return rendezvous;
  steps_.Cleanup(step_id);  // EndSession may have come before the step was in the table
  return errors::Cancelled("The session was closed");
}

absl::StatusOr<std::vector<Tensor>> Worker::PrepareStep(const RunGraphArgs& args, WorkerStep::Options* step) {
  ASSIGN_OR_RETURN(std::vector<Tensor> feeds, ByPosition(args.feeds, args.feed_indices, step->graph->num_feeds()));
  for (const GraphUnit& unit : *step->units) {
    for (const int feed : unit.feeds) {
      RETURN_IF_ERROR(ResolveSessionTensor(unit.device, args.session_handle, &feeds[feed]));
    }
  }
  for (Tensor& feed : feeds) {
    if (options_.variants == nullptr || feed.dtype() != DT_VARIANT) continue;
    RETURN_IF_ERROR(options_.variants->DecodeKnown(&feed));
  }
  if (step->graph->has_transfers()) {
    ASSIGN_OR_RETURN(StepRendezvous rendezvous, OpenStep(args.step_id, *step->session));
    step->rendezvous = std::move(rendezvous.remote);
    step->transfers = std::move(rendezvous.log);
  }
  return feeds;
}

void Worker::RunWhole(std::shared_ptr<const RunGraphArgs> args, WorkerStep::Options step, absl::Time start,
                      ResultCallback<RunGraphResult> done) {
  const absl::StatusOr<std::vector<Tensor>> feeds = PrepareStep(*args, &step);
  if (!feeds.ok()) {
    metrics_->steps.End(feeds.status().code(), start);
    return done(feeds.status());
  }
  auto run = std::make_shared<WorkerStep>(std::move(step));
  run->Run(*feeds, [this, args, start, done = std::move(done)](absl::StatusOr<RunGraphResult> result) {
    if (result.ok()) {
      if (absl::Status status = ChooseFetches(args->fetch_indices, &*result); !status.ok()) result = status;
    }
    if (result.ok() && args->exec_opts.record_timeline()) KeepStats(args->step_id, result->step_stats);
    metrics_->steps.End(result.status().code(), start);
    done(std::move(result));
  });
}

void Worker::RunPartial(const CallOptions& options, std::shared_ptr<const RunGraphArgs> args, WorkerStep::Options step,
                        ResultCallback<RunGraphResult> done) {
  const int64_t step_id = args->step_id;
  auto rendezvous = OpenStep(step_id, *step.session);
  if (!rendezvous.ok()) return done(rendezvous.status());
  auto created = PartialRun::Create(std::move(step), *rendezvous);
  if (!created.ok()) return done(created.status());
  std::shared_ptr<PartialRun> run;
  bool is_first;
  {
    MutexLock lock(mu_);
    auto [it, is_new] = partial_runs_.try_emplace(step_id, *created);
    run = it->second;
    is_first = is_new;
    if (args->is_last_partial_run) partial_runs_.erase(it);
  }
  if (is_first) run->Start();
  run->Call(options, std::move(args), std::move(done));
}

void Worker::CleanupGraphAsync(const CallOptions&, const tensorflow::CleanupGraphRequest* request,
                               tensorflow::CleanupGraphResponse*, DoneCallback done) {
  std::shared_ptr<PartialRun> abandoned;
  {
    MutexLock lock(mu_);
    if (const auto run = partial_runs_.find(request->step_id()); run != partial_runs_.end()) {
      abandoned = std::move(run->second);
      partial_runs_.erase(run);
    }
  }
  if (abandoned != nullptr) abandoned->Cancel(errors::Cancelled("The partial run was ended"));
  steps_.Cleanup(request->step_id());
  done(absl::OkStatus());
}

bool Worker::ServesAs(const DeviceName& task) const {
  MutexLock lock(mu_);
  return std::any_of(sessions_.begin(), sessions_.end(),
                     [&](const auto& session) { return session.second->options().task.SameTask(task); });
}

absl::Status Worker::CheckSource(absl::string_view method, const DeviceName& source, uint64_t incarnation) const {
  for (const Device* device : options_.devices) {
    const DeviceName& known = device->parsed_name();
    if (known.type != source.type || known.id != source.id) continue;
    if (!known.SameTask(source) && !ServesAs(source)) break;
    if (device->incarnation() == incarnation) return absl::OkStatus();
    return errors::Aborted(method, " expects a different device incarnation: ", incarnation, " vs. ",
                           device->incarnation(), ". Your worker job (\"", options_.task,
                           "\") was probably restarted. Check your worker job for the reason why it was restarted.");
  }
  return errors::InvalidArgument(method, " from ", source.ToString(), ", which is not a device of ", options_.task);
}

absl::Status Worker::CheckReceiveKey(absl::string_view key) const {
  ASSIGN_OR_RETURN(RendezvousKey parsed, RendezvousKey::Parse(key));
  return CheckSource("RecvTensor", parsed.src, parsed.src_incarnation);
}

absl::Status Worker::CheckCollectives() const {
  if (options_.collectives != nullptr) return absl::OkStatus();
  return errors::Unimplemented("Task ", options_.task, " has no collectives");
}

void Worker::RecvBufAsync(const CallOptions& options, std::shared_ptr<const RecvBufArgs> args,
                          ResultCallback<ReceivedBytes> done) {
  absl::Status status = CheckCollectives();
  if (status.ok()) {
    const auto source = DeviceName::ParseFull(args->src_device);
    status = source.ok() ? CheckSource("RecvBuf", *source, args->src_incarnation) : source.status();
  }
  if (!status.ok()) return done(WithOrigin(std::move(status), {.task = options_.task}));
  options_.collectives->RecvBuf(options, *args, std::move(done));
}

void Worker::JoinGroupAsync(const CallOptions& options, const JoinGroupRequest* request, JoinGroupResponse* response,
                            DoneCallback done) {
  if (absl::Status status = CheckCollectives(); !status.ok()) return done(std::move(status));
  options_.collectives->groups().Join(options, *request, response, std::move(done));
}

void Worker::CompleteInstanceAsync(const CallOptions& options, const tensorflow::CompleteInstanceRequest* request,
                                   tensorflow::CompleteInstanceResponse* response, DoneCallback done) {
  if (absl::Status status = CheckCollectives(); !status.ok()) return done(std::move(status));
  options_.collectives->instances().Declare(options, *request, response, std::move(done));
}

void Worker::GetStepSequenceAsync(const CallOptions&, const tensorflow::GetStepSequenceRequest* request,
                                  tensorflow::GetStepSequenceResponse* response, DoneCallback done) {
  if (absl::Status status = CheckCollectives(); !status.ok()) return done(std::move(status));
  done(options_.collectives->sequences().Answer(*request, response));
}

void Worker::RecvTensorAsync(const CallOptions& options, int64_t step_id, absl::string_view key,
                             ResultCallback<Rendezvous::Received> done) {
  if (absl::Status status = CheckReceiveKey(key); !status.ok()) {
    return done(WithOrigin(std::move(status), {.task = options_.task}));
  }
  auto rendezvous = steps_.Await(step_id);
  if (!rendezvous.ok()) return done(MarkDerived(rendezvous.status()));
  rendezvous->local->RecvAsync(key, {.cancellation = options.cancellation},
                               [this, step_id, active = std::make_shared<ActiveCount::Hold>(&active_),
                                done = std::move(done)](absl::StatusOr<Rendezvous::Received> received) {
                                 steps_.EndAwait(step_id);
                                 done(std::move(received));
                               });
}

void Worker::KeepStats(int64_t step_id, const tensorflow::StepStats& stats) {
  MutexLock lock(mu_);
  if (!keeps_stats_) return;
  kept_stats_.emplace_back(step_id, stats);
  if (kept_stats_.size() > kKeptStats) kept_stats_.pop_front();
}

void Worker::LoggingAsync(const CallOptions&, const tensorflow::LoggingRequest* request,
                          tensorflow::LoggingResponse* response, DoneCallback done) {
  {
    MutexLock lock(mu_);
    if (request->enable_rpc_logging()) keeps_stats_ = true;
    if (request->disable_rpc_logging()) keeps_stats_ = false;
    for (const int64_t step_id : request->fetch_step_id()) {
      for (const auto& [id, stats] : kept_stats_) {
        if (id != step_id) continue;
        tensorflow::LabeledStepStats* step = response->add_step();
        step->set_step_id(id);
        *step->mutable_step_stats() = stats;
      }
    }
    if (request->clear()) kept_stats_.clear();
  }
  done(absl::OkStatus());
}

void Worker::TracingAsync(const CallOptions&, const tensorflow::TracingRequest*, tensorflow::TracingResponse*,
                          DoneCallback done) {
  done(errors::Unimplemented("Tracing: ask for a step's timeline by RunOptions.trace_level instead"));
}

}  // namespace weir
