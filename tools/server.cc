#include "tools/server.h"

#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "core/logging.h"
#include "distribute/cluster/address.h"
#include "distribute/collective/nccl/gpu_libraries.h"
#include "distribute/collective/task_collectives.h"
#include "distribute/transport/grpc_health_service.h"
#include "distribute/transport/grpc_master_service.h"
#include "distribute/transport/grpc_server.h"
#include "distribute/transport/grpc_worker_pool.h"
#include "distribute/transport/grpc_worker_service.h"
#include "distribute/transport/link_progress.h"
#include "distribute/transport/remote_rendezvous.h"
#include "distribute/transport/shared_memory/link_poller.h"
#include "distribute/transport/shared_memory/sending_arena.h"
#include "distribute/transport/status_service.h"
#include "distribute/transport/stream/stream_links.h"
#include "distribute/transport/transport_service.h"
#include "kernels/device/gpu/layout_costs.h"
#include "kernels/device/gpu/machine_gpus.h"
#include "kernels/library.h"
#include "master/master.h"
#include "worker/worker.h"

namespace weir {
namespace {

// The value that TensorFlow's CPU devices report too; it is not a limit.
constexpr int64_t kReportedMemory = 256 << 20;
// Iterators of many clients may each block waiting for an element, and must leave threads for its producers.
constexpr int kMaxBlockingThreads = 4096;
constexpr int kMaxCpuDevices = 64;

}  // namespace

Server::Server(Options options) : options_(std::move(options)), task_(TaskName(options_.job, options_.index)) {}

Server::~Server() {
  Shutdown(absl::ZeroDuration());
  if (links_ != nullptr) links_->Stop();
  if (streams_ != nullptr) streams_->Stop();
  // Calls that came through links were cancelled with them; they must end before their handlers are destroyed.
  if (transport_service_ != nullptr) transport_service_->AwaitCalls(absl::InfiniteFuture());
  // Calls of the master and the worker to other tasks must end before the pool that carries them is destroyed.
  master_.reset();
  worker_.reset();
}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(Options options) {
  std::unique_ptr<Server> server(new Server(std::move(options)));
  ASSIGN_OR_RETURN(const std::string address, server->ChooseAddress());
  RETURN_IF_ERROR(server->MakeRegistries());
  RETURN_IF_ERROR(server->MakeWorker());
  RETURN_IF_ERROR(server->Serve(address));
  return server;
}

MasterInterface* Server::master() const { return master_.get(); }

absl::StatusOr<std::string> Server::ChooseAddress() const {
  ASSIGN_OR_RETURN(std::string text, options_.cluster.AddressOf(options_.job, options_.index));
  if (!options_.bind_address.empty()) text = options_.bind_address;
  ASSIGN_OR_RETURN(const Address address, Address::Parse(text));
  if (!address.IsLoopback()) {
    if (!options_.insecure) {
      return errors::FailedPrecondition(
          "Cannot let task ", task_, " listen on ", text,
          ", which other machines can reach: servers use no encryption or authentication. Listen on 127.0.0.1, "
          "or pass --insecure on a trusted network");
    }
    WEIR_LOG(WARNING).With("address", text)
        << "INSECURE: no authentication or encryption; anyone who can reach this address can run graphs";
  }
  return address.ToString();
}

absl::Status Server::MakeRegistries() {
  if (options_.ops == nullptr) {
    own_ops_ = std::make_unique<OpRegistry>();
    RETURN_IF_ERROR(RegisterAllOps(*own_ops_));
  }
  if (options_.kernels == nullptr) {
    own_kernels_ = std::make_unique<KernelRegistry>();
    RETURN_IF_ERROR(RegisterAllKernels(*own_kernels_));
  }
  RETURN_IF_ERROR(RegisterAllVariants(variants_));
  return absl::OkStatus();
}

void Server::MakeLinks() {
  absl::StatusOr<std::unique_ptr<LinkPoller>> links = LinkPoller::Create();
  if (links.ok()) {
    links_ = *std::move(links);
  } else {
    WEIR_LOG(WARNING).With("reason", links.status().ToString()) << "shared-memory links are disabled";
  }
}

absl::Status Server::MakeGpus(const DeviceName& task, std::vector<Device*>* devices) {
  const GpuPlatform gpus = options_.gpus.has_value() ? *options_.gpus : MachineGpus();
  ASSIGN_OR_RETURN(GpuDevices made, MakeGpuDevices(gpus, options_.config, task, work_queue_.get()));
  if (made.devices.empty()) WEIR_LOG(INFO).With("task", task_).With("reason", made.reason) << "no GPUs";
  for (std::unique_ptr<GpuDevice>& gpu : made.devices) {
    devices->push_back(gpu.get());
    devices_.push_back(std::move(gpu));
  }
  return absl::OkStatus();
}

absl::Status Server::MakeWorker() {
  if (options_.cpu_devices < 1 || options_.cpu_devices > kMaxCpuDevices) {
    return errors::InvalidArgument("A task has 1 to ", kMaxCpuDevices, " CPU devices, not ", options_.cpu_devices);
  }
  const OpRegistry* ops = options_.ops != nullptr ? options_.ops : own_ops_.get();
  const KernelRegistry* kernels = options_.kernels != nullptr ? options_.kernels : own_kernels_.get();
  work_queue_ = WorkQueue::Create(
      {.name = "weir", .compute_threads = options_.compute_threads, .max_blocking_threads = kMaxBlockingThreads});
  ASSIGN_OR_RETURN(const DeviceName task, DeviceName::Parse(task_));
  std::vector<Device*> devices;
  for (int i = 0; i < options_.cpu_devices; ++i) {
    devices_.push_back(NewCpuDevice(task, i, work_queue_.get(), kReportedMemory));
    devices.push_back(devices_.back().get());
  }
  RETURN_IF_ERROR(MakeGpus(task, &devices));
  if (options_.shared_memory) MakeLinks();
  if (options_.streams) streams_ = std::make_unique<StreamLinks>();
  progress_ = std::make_unique<LinkProgress>(links_.get());
  workers_ = std::make_unique<GrpcWorkerPool>(GrpcWorkerPool::Options{
      .cluster = options_.cluster,
      .local_task = task_,
      .channel = {.shared_memory = options_.shared_memory, .links = links_.get(), .streams = streams_.get()}});

  collectives_ = std::make_unique<TaskCollectives>(TaskCollectives::Options{.task = task_,
                                                                            .workers = workers_.get(),
                                                                            .timers = &timers_,
                                                                            .work_queue = work_queue_.get(),
                                                                            .gpu_libraries = GpuCollectiveLibraries()});

  Worker::Options worker;
  worker.collectives = collectives_.get();
  worker.progress = progress_.get();
  worker.task = task_;
  worker.devices = devices;
  worker.ops = ops;
  worker.kernels = kernels;
  worker.timers = &timers_;
  worker.variants = &variants_;
  worker.remote_rendezvous = [this](int64_t step_id, const StepMeeting& meeting) {
    return NewRemoteRendezvous({step_id, task_, meeting.local, workers_.get(), &variants_, meeting.log});
  };
  ASSIGN_OR_RETURN(worker_, Worker::Create(std::move(worker)));
  // A non-owning pointer: the pool must not keep the worker, which makes calls through it, alive.
  workers_->SetLocalWorker(std::shared_ptr<WorkerInterface>(std::shared_ptr<void>(), worker_.get()));

  Master::Options master;
  master.local_task = task_;
  master.workers = workers_.get();
  master.ops = ops;
  master.kernels = kernels;
  master.fold_on = devices.front();
  master.mixed_precision = options_.mixed_precision;
  master.layout_costs = MeasuredLayoutCosts(devices);
  master.step_sequences = &collectives_->sequences();
  master.progress = progress_.get();
  master_ = std::make_unique<Master>(std::move(master));
  return absl::OkStatus();
}

absl::Status Server::Serve(const std::string& address) {
  if (options_.shared_memory) shared_memory_ = std::make_unique<SharedMemorySender>(&timers_);
  worker_service_ = std::make_unique<GrpcWorkerService>(worker_.get(), shared_memory_.get());
  master_service_ = std::make_unique<GrpcMasterService>(master_.get());
  GrpcServer::Options server;
  server.bind_address = address;
  server.methods = worker_service_->Methods();
  if (links_ != nullptr || streams_ != nullptr) {
    transport_service_ =
        std::make_unique<TransportService>(worker_.get(), server.methods, links_.get(), streams_.get());
    server.streams = transport_service_->Streams();
    for (ServerMethod& method : transport_service_->Methods()) server.methods.push_back(std::move(method));
  }
  for (ServerMethod& method : master_service_->Methods()) server.methods.push_back(std::move(method));
  std::vector<Device*> devices;
  for (const auto& device : devices_) devices.push_back(device.get());
  server.methods.push_back(ListGpusMethod(devices));
  server.methods.push_back(ListResourcesMethod(std::move(devices)));
  server.methods.push_back(HealthCheckMethod(server.methods));
  ASSIGN_OR_RETURN(server_, GrpcServer::Start(std::move(server)));
  address_ = server_->address();
  WEIR_LOG(INFO).With("task", task_).With("address", address_) << "serving";
  return absl::OkStatus();
}

void Server::Shutdown(absl::Duration patience) {
  const absl::Time deadline = absl::Now() + patience;
  if (transport_service_ != nullptr) transport_service_->RefuseCalls();
  if (server_ != nullptr) server_->Drain(deadline);
  if (transport_service_ != nullptr) transport_service_->AwaitCalls(deadline);
  if (server_ != nullptr) server_->Shutdown(absl::ZeroDuration());
}

}  // namespace weir
