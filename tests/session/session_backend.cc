#include "tests/session/session_backend.h"

#include <cstdlib>

#include "absl/time/clock.h"
#include "client/local_runtime.h"
#include "core/clock.h"
#include "core/gpu/simulated_platform.h"
#include "core/testing.h"
#include "distribute/cluster/process_cluster.h"
#include "distribute/cluster/reserved_port.h"
#include "distribute/transport/grpc_master_client.h"
#include "kernels/device/gpu/machine_gpus.h"
#include "tests/gpu/local_session.h"
#include "tools/server.h"

namespace weir {
namespace {

constexpr int kTasks = 2;
constexpr char kGivenCluster[] = "WEIR_SESSION_CLUSTER";

class LocalBackend : public SessionBackend {
 public:
  absl::Status Start() {
    ASSIGN_OR_RETURN(runtime_, LocalRuntime::Create(config(), MachineGpus()));
    return absl::OkStatus();
  }
  absl::StatusOr<std::unique_ptr<Session>> Connect(const Scope& scope, SessionOptions options) override {
    options.config->MergeFrom(config());
    return Session::Local(scope, std::move(options));
  }
  MasterInterface* master() override { return runtime_->master(); }
  tensorflow::ConfigProto config() const override {
    tensorflow::ConfigProto config;
    (*config.mutable_device_count())["CPU"] = kTasks;
    return config;
  }
  std::vector<std::string> devices() const override {
    return {"/job:localhost/replica:0/task:0/device:CPU:0", "/job:localhost/replica:0/task:0/device:CPU:1"};
  }

 private:
  std::unique_ptr<LocalRuntime> runtime_;
};

// Each session has a task of its own. At the end no GPU may have seen operations that had no order.
class SimulatedGpuBackend : public SessionBackend {
 public:
  absl::Status Start() {
    ASSIGN_OR_RETURN(runtime_, LocalRuntime::Create(config(), NewGpus()));
    return absl::OkStatus();
  }
  ~SimulatedGpuBackend() override {
    for (const auto& gpu : gpus_) EXPECT_THAT(gpu->Races(), testing::IsEmpty());
  }
  absl::StatusOr<std::unique_ptr<Session>> Connect(const Scope& scope, SessionOptions options) override {
    options.config->MergeFrom(config());
    return LocalSessionOn(NewGpus(), scope, std::move(options));
  }
  MasterInterface* master() override { return runtime_->master(); }
  tensorflow::ConfigProto config() const override {
    tensorflow::ConfigProto config;
    config.set_allow_soft_placement(true);
    config.mutable_gpu_options()->set_allow_growth(true);
    return config;
  }
  std::vector<std::string> devices() const override {
    return {"/job:localhost/replica:0/task:0/device:GPU:0", "/job:localhost/replica:0/task:0/device:GPU:1"};
  }

 private:
  GpuPlatform NewGpus() {
    std::vector<std::shared_ptr<SimulatedGpu>> gpus;
    for (int i = 0; i < kTasks; ++i) {
      gpus.push_back(std::make_shared<SimulatedGpu>(SimulatedGpu::Options{.seed = gpus_.size() + 1}));
      gpus_.push_back(gpus.back());
    }
    return SimulatedPlatform(std::move(gpus));
  }

  std::vector<std::shared_ptr<SimulatedGpu>> gpus_;
  std::unique_ptr<LocalRuntime> runtime_;
};

class CapturedGpuBackend : public SimulatedGpuBackend {
 public:
  tensorflow::ConfigProto config() const override {
    tensorflow::ConfigProto config = SimulatedGpuBackend::config();
    CaptureGraphs(0, &config);
    return config;
  }
};

// Over gRPC to the first task.
class ClusterBackend : public SessionBackend {
 public:
  absl::StatusOr<std::unique_ptr<Session>> Connect(const Scope& scope, SessionOptions options) override {
    return Session::Connect("grpc://" + address_, scope, std::move(options));
  }
  MasterInterface* master() override { return master_.get(); }
  std::vector<std::string> devices() const override {
    return {"/job:worker/replica:0/task:0/device:CPU:0", "/job:worker/replica:0/task:1/device:CPU:0"};
  }

 protected:
  void SetAddress(const std::string& address) {
    address_ = address;
    master_ = std::make_unique<GrpcMasterClient>(GrpcChannelOptions{.address = address});
  }

 private:
  std::string address_;
  std::unique_ptr<GrpcMasterClient> master_;
};

class InProcessBackend : public ClusterBackend {
 public:
  absl::Status Start() {
    ClusterSpec cluster;
    for (int i = 0; i < kTasks; ++i) {
      ASSIGN_OR_RETURN(ports_.emplace_back(), ReservedPort::Create());
      RETURN_IF_ERROR(cluster.AddTask("worker", i, ports_[i]->address()));
    }
    for (int i = 0; i < kTasks; ++i) {
      ASSIGN_OR_RETURN(servers_.emplace_back(), Server::Start({.cluster = cluster, .job = "worker", .index = i}));
    }
    SetAddress(servers_[0]->address());
    return absl::OkStatus();
  }

 private:
  std::vector<std::unique_ptr<ReservedPort>> ports_;
  std::vector<std::unique_ptr<Server>> servers_;
};

class ProcessesBackend : public ClusterBackend {
 public:
  absl::Status Start() {
    ASSIGN_OR_RETURN(cluster_, ProcessCluster::Start({.program = WEIR_PROGRAM, .jobs = {{"worker", kTasks}}}));
    ASSIGN_OR_RETURN(const std::string address, cluster_->spec().AddressOf("worker", 0));
    SetAddress(address);
    return absl::OkStatus();
  }

 private:
  std::unique_ptr<ProcessCluster> cluster_;
};

// Without the state that an earlier test has left there.
class GivenBackend : public ClusterBackend {
 public:
  absl::Status Start() {
    SetAddress(std::getenv(kGivenCluster));
    tensorflow::ResetRequest request;
    tensorflow::ResetResponse response;
    return master()->Reset({.deadline = MonotonicNow() + absl::Seconds(30)}, request, &response);
  }
};

template <typename Backend>
absl::StatusOr<std::unique_ptr<SessionBackend>> Started() {
  auto backend = std::make_unique<Backend>();
  RETURN_IF_ERROR(backend->Start());
  return backend;
}

}  // namespace

std::vector<BackendKind> BackendKinds() {
  if (std::getenv(kGivenCluster) != nullptr) return {BackendKind::kGiven};
  return {BackendKind::kLocal, BackendKind::kInProcess, BackendKind::kSimulatedGpus, BackendKind::kCapturedGpus,
          BackendKind::kProcesses};
}

std::string BackendName(BackendKind kind) {
  switch (kind) {
    case BackendKind::kLocal:
      return "Local";
    case BackendKind::kInProcess:
      return "InProcess";
    case BackendKind::kSimulatedGpus:
      return "SimulatedGpus";
    case BackendKind::kCapturedGpus:
      return "CapturedGpus";
    case BackendKind::kProcesses:
      return "Processes";
    case BackendKind::kGiven:
      return "Given";
  }
  return "";
}

absl::StatusOr<std::unique_ptr<SessionBackend>> SessionBackend::Create(BackendKind kind) {
  switch (kind) {
    case BackendKind::kLocal:
      return Started<LocalBackend>();
    case BackendKind::kInProcess:
      return Started<InProcessBackend>();
    case BackendKind::kSimulatedGpus:
      return Started<SimulatedGpuBackend>();
    case BackendKind::kCapturedGpus:
      return Started<CapturedGpuBackend>();
    case BackendKind::kProcesses:
      return Started<ProcessesBackend>();
    case BackendKind::kGiven:
      return Started<GivenBackend>();
  }
  return errors::InvalidArgument("No such backend");
}

}  // namespace weir
