#include "tools/served_task.h"

#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "client/runtime/task_runtime.h"
#include "core/clock.h"
#include "core/device/incarnation.h"
#include "core/files/store_file_system.h"
#include "core/gpu/gpu_devices.h"
#include "core/logging.h"
#include "distribute/cluster/address.h"
#include "distribute/transport/clients/client_leases.h"
#include "distribute/transport/grpc_health_service.h"
#include "distribute/transport/grpc_master_service.h"
#include "distribute/transport/grpc_server.h"
#include "distribute/transport/membership/membership_service.h"
#include "distribute/transport/membership/registrar.h"
#include "distribute/transport/membership/regroup_service.h"
#include "distribute/transport/python/python_service.h"
#include "distribute/transport/request_log.h"
#include "distribute/transport/shared_memory/link_poller.h"
#include "distribute/transport/shared_memory/sending_arena.h"
#include "distribute/transport/status_service.h"
#include "distribute/transport/stream/stream_links.h"
#include "distribute/transport/workers/grpc_worker_pool.h"
#include "distribute/transport/workers/grpc_worker_service.h"
#include "distribute/transport/workers/task_busy_poller.h"
#include "distribute/transport/workers/transport_service.h"
#include "kernels/device/gpu/machine_gpus.h"
#include "master/journal/journal_file.h"
#include "master/journal/session_journal.h"
#include "tensorflow/core/protobuf/config.pb.h"
#include "tools/joining_task.h"
#include "tools/task_state.h"
#include "tools/trace_service.h"
#include "tools/watch/task_reporter.h"
#include "tools/watch/task_watch.h"

namespace weir {
namespace {

// What TensorFlow's CPU devices say too; nothing is limited by it.
constexpr int64_t kReportedMemory = 256 << 20;
// Iterators of many clients may each wait for an element: they must leave threads to those that bring it.
constexpr int kMaxBlockingThreads = 4096;

}  // namespace

ServedTask::ServedTask(Server::Options options, std::unique_ptr<JoiningTask> joining)
    : options_(std::move(options)), joining_(std::move(joining)), task_(TaskName(options_.job, options_.index)) {}

ServedTask::~ServedTask() = default;

void ServedTask::Stop(absl::Duration patience) {
  if (reporter_ != nullptr) reporter_->SetStopping("the task is stopping");
  if (registrar_ != nullptr) registrar_->Stop();
  StopServing(patience);
  // Once steps in flight have ended: with the task, its address leaves the others' cluster.
  if (joining_ != nullptr) joining_->Leave();
  if (links_ != nullptr) links_->Stop();
  if (streams_ != nullptr) streams_->Stop();
  // Calls that came through links were cancelled with them: they end before what serves them goes.
  if (transport_service_ != nullptr) transport_service_->AwaitCalls(absl::InfiniteFuture());
  if (reporter_ != nullptr) reporter_->Detach();
  if (runtime_ != nullptr) {
    {
      MutexLock lock(worker_mu_);
      master_ = nullptr;
    }
    runtime_->StopMaster();
    {
      MutexLock lock(worker_mu_);
      worker_ = nullptr;
    }
    runtime_->Stop();
  }
  watch_.reset();
  if (request_log_ != nullptr && journal_->Handles().empty()) request_log_->Remove();
}

absl::Status ServedTask::Start() {
  ASSIGN_OR_RETURN(const std::string address, ChooseAddress());
  RETURN_IF_ERROR(OpenJournal());
  MakeMembership();
  RETURN_IF_ERROR(MakeRuntime());
  MakeReporter();
  RETURN_IF_ERROR(StartRegistrar());
  RETURN_IF_ERROR(Serve(address));
  RETURN_IF_ERROR(Annotate(StartWatch(), "--http-port"));
  return joining_ != nullptr ? joining_->Complete(membership_.get()) : absl::OkStatus();
}

std::vector<StepWait> ServedTask::Waits() {
  MutexLock lock(worker_mu_);
  return worker_ == nullptr ? std::vector<StepWait>() : worker_->Waits();
}

MasterInterface* ServedTask::master() const { return runtime_->master(); }

absl::StatusOr<std::string> ServedTask::ChooseAddress() const {
  ASSIGN_OR_RETURN(std::string text, options_.cluster.AddressOf(options_.job, options_.index));
  if (!options_.bind_address.empty()) text = options_.bind_address;
  ASSIGN_OR_RETURN(const Address address, Address::Parse(text));
  if (!address.IsLoopback()) {
    if (!options_.insecure) {
      return errors::FailedPrecondition("Task ", task_, " is to listen on ", text,
                                        ", which other machines can reach, and this server uses no encryption or "
                                        "authentication: listen on 127.0.0.1, "
                                        "or allow it with --insecure on a network that you trust");
    }
    WEIR_LOG(WARNING).With("address", text)
        << "INSECURE: anybody who reaches this address can run graphs here; traffic is not encrypted";
  }
  return address.ToString();
}

void ServedTask::MakeLinks() {
  absl::StatusOr<std::unique_ptr<LinkPoller>> links = LinkPoller::Create();
  if (links.ok()) {
    links_ = *std::move(links);
  } else {
    WEIR_LOG(WARNING).With("reason", links.status().ToString()) << "no links through shared memory";
  }
}

absl::Status ServedTask::OpenJournal() {
  if (options_.journal_directory.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(auto file,
                   JournalFile::Open(options_.journal_directory, absl::StrCat(options_.job, "-", options_.index)));
  ASSIGN_OR_RETURN(journal_, SessionJournal::Open(std::move(file), {.task = task_}));
  ASSIGN_OR_RETURN(request_log_, RequestLog::Open(journal_->id()));
  const std::vector<std::string> sessions = journal_->Handles();
  WEIR_LOG(INFO).With("task", task_).With("epoch", journal_->epoch()).With("sessions", sessions.size())
      << "opened the journal of sessions";
  if (request_log_->continues() || sessions.empty()) return absl::OkStatus();
  WEIR_LOG(WARNING).With("sessions", sessions.size()) << "the recorded sessions are dropped: which of their steps had "
                                                         "begun is not known after a restart of the machine";
  for (const std::string& handle : sessions) journal_->RemoveSession(handle);
  return absl::OkStatus();
}

void ServedTask::MakeMembership() {
  if (joining_ == nullptr) {
    membership_ = std::make_unique<ClusterMembership>(task_, options_.cluster);
  } else {
    membership_ = std::make_unique<ClusterMembership>(task_, joining_->view(), options_.cluster);
  }
  membership_->SetObserver([this](const ClusterMembership::Snapshot& cluster) {
    MutexLock lock(worker_mu_);
    if (worker_ == nullptr) return;
    worker_->DropMovedState(cluster);
    if (std::exchange(seen_loss_, cluster.state.loss_epoch()) != cluster.state.loss_epoch()) {
      if (master_ != nullptr) master_->EndStepsOfLostTasks(cluster.state);
    }
  });
}

absl::Status ServedTask::StartRegistrar() {
  if (joining_ != nullptr || RegistrarOf(options_.cluster) != task_) return absl::OkStatus();
  const std::string address = *options_.cluster.AddressOf(options_.job, options_.index);
  // Others cannot know a port that the system chose: such a cluster stays as it is.
  if (const absl::StatusOr<Address> parsed = Address::Parse(address); parsed->port() == 0 && !parsed->is_unix()) {
    return absl::OkStatus();
  }
  // It asks the others while they start. Steps have connections of their own, which have not failed by then.
  auto workers = std::make_unique<GrpcWorkerPool>(
      GrpcWorkerPool::Options{.cluster = options_.cluster, .membership = membership_.get(), .local_task = task_});
  RETURN_IF_ERROR(workers->status());
  registrar_workers_ = std::move(workers);
  registrar_ = std::make_unique<Registrar>(
      Registrar::Options{.membership = membership_.get(),
                         .workers = registrar_workers_.get(),
                         .table = {.registrar_incarnation = NewIncarnation(), .lease = options_.member_lease},
                         .task_incarnation = runtime_->worker()->incarnation()});
  return absl::OkStatus();
}

absl::Status ServedTask::MakeRuntime() {
  if (options_.shared_memory) MakeLinks();
  if (options_.streams) streams_ = std::make_unique<StreamLinks>();
  poller_ = std::make_unique<TaskBusyPoller>(links_.get());
  auto pool =
      std::make_unique<GrpcWorkerPool>(GrpcWorkerPool::Options{.cluster = options_.cluster,
                                                               .membership = membership_.get(),
                                                               .local_task = task_,
                                                               .channel = {.shared_memory = options_.shared_memory,
                                                                           .links = links_.get(),
                                                                           .streams = streams_.get(),
                                                                           .metrics = &transport_metrics_}});
  RETURN_IF_ERROR(pool->status());
  GrpcWorkerPool* const workers = pool.get();
  workers_ = workers;
  TaskRuntime::Options runtime;
  runtime.task = task_;
  runtime.threads = {
      .name = "weir", .compute_threads = options_.compute_threads, .max_blocking_threads = kMaxBlockingThreads};
  runtime.cpu_devices = options_.cpu_devices;
  runtime.cpu_memory_limit = kReportedMemory;
  runtime.config = *options_.config;
  runtime.gpus = options_.gpus != nullptr ? *options_.gpus : MachineGpus();
  runtime.mixed_precision = options_.mixed_precision;
  runtime.deterministic = options_.deterministic;
  runtime.workers = std::move(pool);
  runtime.set_local_worker = [workers](auto worker) { workers->SetLocalWorker(std::move(worker)); };
  runtime.has_peers = true;
  runtime.membership = membership_.get();
  runtime.master_lease = options_.master_lease;
  runtime.cluster_workers = [workers](const ClusterSpec& cluster, const std::string& task) {
    return workers->ForCluster(cluster, task);
  };
  python_service_ = std::make_unique<PythonService>(membership_.get());
  runtime.python = [service = python_service_.get()](const tensorflow::GraphOptions& options) {
    return service->FunctionsOf(options);
  };
  runtime.poller = poller_.get();
  runtime.journal = journal_.get();
  runtime.ops = options_.ops;
  runtime.kernels = options_.kernels;
  ASSIGN_OR_RETURN(runtime_, TaskRuntime::Create(std::move(runtime)));
  {
    MutexLock lock(worker_mu_);
    worker_ = runtime_->worker();
    master_ = runtime_->master();
  }
  RETURN_IF_ERROR(Annotate(OpenCheckpointStore(), "--checkpoint-store"));
  if (!runtime_->no_gpu_reason().empty()) {
    WEIR_LOG(INFO).With("task", task_).With("reason", runtime_->no_gpu_reason()) << "no GPUs";
  }
  return absl::OkStatus();
}

std::string ServedTask::StoreDirectory() const {
  if (options_.checkpoint_store.empty()) return "";
  return JoinPath(options_.checkpoint_store, absl::StrCat(options_.job, "-", options_.index));
}

absl::Status ServedTask::OpenCheckpointStore() {
  if (options_.checkpoint_store.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(std::shared_ptr<FileSystem> store, NewStoreFileSystem(StoreDirectory()));
  const std::shared_ptr<FileSystemRegistry> files = FileSystemRegistry::Default();
  RETURN_IF_ERROR(files->Register(kStoreScheme, std::move(store)));
  for (const auto& device : runtime_->devices()) device->set_file_systems(files);
  return absl::OkStatus();
}

void ServedTask::MakeReporter() {
  reporter_ = std::make_unique<TaskReporter>(WatchedTask{.task = task_,
                                                         .membership = membership_.get(),
                                                         .workers = workers_,
                                                         .devices = runtime_->DevicePointers(),
                                                         .master = runtime_->master(),
                                                         .worker = runtime_->worker(),
                                                         .transport = &transport_metrics_,
                                                         .links = links_.get(),
                                                         .streams = streams_.get(),
                                                         .checkpoint_store = StoreDirectory()});
}

absl::Status ServedTask::StartWatch() {
  if (options_.http_address.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(watch_,
                   TaskWatch::Start(options_.http_address, options_.insecure, reporter_.get(), options_.gauges));
  http_address_ = watch_->address();
  WEIR_LOG(INFO).With("task", task_).With("address", http_address_) << "serving metrics and status over HTTP";
  return absl::OkStatus();
}

absl::Status ServedTask::Serve(const std::string& address) {
  if (options_.shared_memory) {
    shared_memory_ = std::make_unique<SharedMemorySender>(runtime_->timers(), &transport_metrics_);
  }
  worker_service_ = std::make_unique<GrpcWorkerService>(runtime_->worker(), shared_memory_.get());
  leases_ = std::make_unique<ClientLeases>(options_.session_lease);
  master_service_ = std::make_unique<GrpcMasterService>(runtime_->master(), leases_.get(), request_log_.get());
  GrpcServer::Options server;
  server.bind_address = address;
  server.metrics = &transport_metrics_;
  server.methods = worker_service_->Methods();
  if (links_ != nullptr || streams_ != nullptr) {
    transport_service_ =
        std::make_unique<TransportService>(runtime_->worker(), server.methods, links_.get(), streams_.get());
    server.streams = transport_service_->Streams();
    for (ServerMethod& method : transport_service_->Methods()) server.methods.push_back(std::move(method));
  }
  for (ServerMethod& method : master_service_->Methods()) server.methods.push_back(std::move(method));
  for (ServerMethod& method : python_service_->Methods()) server.methods.push_back(std::move(method));
  for (ServerStreamMethod& stream : python_service_->Streams()) server.streams.push_back(std::move(stream));
  trace_service_ = std::make_unique<TraceService>(membership_.get(), runtime_->master()->tracer());
  for (ServerMethod& method : trace_service_->Methods()) server.methods.push_back(std::move(method));
  state_ = std::make_unique<TaskState>(membership_.get(), runtime_->master(), runtime_->worker());
  membership_service_ = std::make_unique<MembershipService>(membership_.get(), registrar_.get(), state_.get());
  for (ServerMethod& method : membership_service_->Methods()) server.methods.push_back(std::move(method));
  regroup_service_ = std::make_unique<RegroupService>();
  for (ServerMethod& method : regroup_service_->Methods()) server.methods.push_back(std::move(method));
  server.methods.push_back(ListGpusMethod(runtime_->DevicePointers()));
  server.methods.push_back(ListResourcesMethod(runtime_->DevicePointers()));
  server.methods.push_back(TaskReportMethod(reporter_.get()));
  server.methods.push_back(HealthCheckMethod(server.methods));
  ASSIGN_OR_RETURN(server_, GrpcServer::Start(std::move(server)));
  address_ = server_->address();
  reporter_->SetServer(server_.get());
  RETURN_IF_ERROR(leases_->Start(
      {.is_open = [this](absl::string_view client) { return server_->IsConnected(client); },
       .end = [this](const std::string& session) { EndSession(session); },
       .disconnected = [this](const std::string& session) { runtime_->master()->EndPartialRuns(session); }}));
  WEIR_LOG(INFO).With("task", task_).With("address", address_) << "serving";
  return absl::OkStatus();
}

void ServedTask::EndSession(const std::string& session) {
  tensorflow::CloseSessionRequest request;
  tensorflow::CloseSessionResponse response;
  request.set_session_handle(session);
  const absl::Status status = runtime_->master()->CloseSession({}, request, &response);
  if (!status.ok() && !absl::IsAborted(status)) {
    WEIR_LOG(WARNING).With("session", session) << "ending the session: " << status.ToString();
  }
}

void ServedTask::StopServing(absl::Duration patience) {
  const absl::Time deadline = MonotonicNow() + patience;
  if (leases_ != nullptr) leases_->Stop();
  if (transport_service_ != nullptr) transport_service_->RejectCalls();
  if (server_ != nullptr) server_->Drain(deadline);
  if (transport_service_ != nullptr) transport_service_->AwaitCalls(deadline);
  if (server_ != nullptr) server_->Shutdown(absl::ZeroDuration());
}

}  // namespace weir
