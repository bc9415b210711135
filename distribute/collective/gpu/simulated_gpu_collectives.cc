#include "distribute/collective/gpu/simulated_gpu_collectives.h"

#include <cstring>
#include <deque>
#include <thread>
#include <utility>

#include "core/gpu/simulated_gpu.h"
#include "core/mutex.h"
#include "distribute/collective/gpu/simulated_gpu_hub.h"
#include "distribute/collective/gpu/simulated_group.h"

namespace weir {
namespace {

// An enqueued group. Guarded by its link's mutex.
struct PendingGroup {
  std::vector<GpuTransfer> transfers;
  std::string result;
  bool has_ended = false;
  std::function<void()> complete;  // called once the stream reaches the group
};

// A rank's connection to the hub, shared by the communicator, its thread and the stream's operations. Thread-safe.
class Link {
 public:
  Link(HostSocket socket, int rank, int size) : socket_(std::move(socket)), rank_(rank), size_(size) {}

  absl::StatusOr<bool> IsReady() {
    MutexLock lock(mu_);
    if (!failure_.ok()) return failure_;
    return is_welcome_;
  }

  absl::StatusOr<std::shared_ptr<PendingGroup>> Add(absl::Span<const GpuTransfer> transfers) {
    auto group = std::make_shared<PendingGroup>();
    group->transfers.assign(transfers.begin(), transfers.end());
    MutexLock lock(mu_);
    if (!failure_.ok()) return failure_;
    pending_.push_back(group);
    return group;
  }
  void HasBeenEnqueued(PendingGroup& group, std::function<void()> complete) {
    {
      MutexLock lock(mu_);
      if (!group.has_ended) {
        group.complete = std::move(complete);
        return;
      }
    }
    complete();
  }

  // The stream has reached the group.
  void Send(const PendingGroup& group) {
    {
      MutexLock lock(mu_);
      if (!failure_.ok()) return;
    }
    // Read sees the failure too.
    WriteMessage(socket_, HubMessage::Kind::kGroup, EncodeGroup(group.transfers, rank_, size_)).IgnoreError();
  }
  void Store(const PendingGroup& group) {
    MutexLock lock(mu_);
    if (group.result.empty()) return;  // it was aborted, or has no output here
    size_t at = 0;
    for (const GpuTransfer& transfer : group.transfers) {
      const size_t bytes = OutputBytes(transfer, rank_, size_);
      if (bytes > 0) std::memcpy(transfer.output, group.result.data() + at, bytes);
      at += bytes;
    }
  }

  // Run by the thread until the hub or this rank closes the connection.
  void Read() {
    absl::Status status;
    while (status.ok()) {
      absl::StatusOr<HubMessage> message = ReadMessage(socket_);
      status = message.ok() ? Take(*std::move(message)) : message.status();
    }
    Fail(status);
  }
  void Fail(const absl::Status& status) {
    std::deque<std::shared_ptr<PendingGroup>> ended;
    {
      MutexLock lock(mu_);
      if (failure_.ok()) failure_ = status;
      ended.swap(pending_);
    }
    for (const auto& group : ended) End(*group);
    socket_.Shutdown();
  }

 private:
  absl::Status Take(HubMessage message) {
    std::shared_ptr<PendingGroup> group;
    {
      MutexLock lock(mu_);
      if (message.kind == HubMessage::Kind::kFailure) return errors::Unavailable(message.payload);
      if (message.kind == HubMessage::Kind::kWelcome) {
        is_welcome_ = true;
        return absl::OkStatus();
      }
      size_t bytes = 0;
      if (!pending_.empty()) {
        for (const GpuTransfer& transfer : pending_.front()->transfers) bytes += OutputBytes(transfer, rank_, size_);
      }
      if (pending_.empty() || message.payload.size() != bytes) {
        return errors::Internal("a result of simulated GPUs that nobody waits for");
      }
      group = std::move(pending_.front());
      pending_.pop_front();
      group->result = std::move(message.payload);
    }
    End(*group);
    return absl::OkStatus();
  }

  void End(PendingGroup& group) {
    std::function<void()> complete;
    {
      MutexLock lock(mu_);
      group.has_ended = true;
      complete = std::exchange(group.complete, nullptr);
    }
    if (complete != nullptr) complete();
  }

  const HostSocket socket_;
  const int rank_, size_;
  Mutex mu_;
  bool is_welcome_ GUARDED_BY(mu_) = false;
  absl::Status failure_ GUARDED_BY(mu_);
  std::deque<std::shared_ptr<PendingGroup>> pending_ GUARDED_BY(mu_);
};

class SimulatedCommunicator : public GpuCommunicator {
 public:
  SimulatedCommunicator(std::shared_ptr<Link> link, int rank, int size)
      : link_(std::move(link)), rank_(rank), size_(size), thread_([link = link_] { link->Read(); }) {}
  ~SimulatedCommunicator() override {
    Abort();
    thread_.join();
  }

  absl::StatusOr<bool> IsReady() override { return link_->IsReady(); }

  absl::Status Enqueue(GpuStream& stream, absl::Span<const GpuTransfer> group) override {
    auto* const gpu = dynamic_cast<SimulatedGpu*>(stream.runtime());
    if (gpu == nullptr) return errors::InvalidArgument("Stream '", stream.name(), "' is not a simulated GPU's");
    SimulatedGpu::Exchange exchange{.name = "collective"};
    for (const GpuTransfer& transfer : group) {
      exchange.reads.push_back(GpuAccess::Read(transfer.input, InputBytes(transfer, rank_, size_)));
      exchange.writes.push_back(GpuAccess::Write(transfer.output, OutputBytes(transfer, rank_, size_)));
    }
    ASSIGN_OR_RETURN(const std::shared_ptr<PendingGroup> pending, link_->Add(group));
    exchange.begin = [link = link_, pending] { link->Send(*pending); };
    exchange.end = [link = link_, pending] { link->Store(*pending); };
    auto complete = gpu->EnqueueExchange(&stream, std::move(exchange));
    if (!complete.ok()) {
      link_->Fail(complete.status());
      return complete.status();
    }
    link_->HasBeenEnqueued(*pending, *std::move(complete));
    return absl::OkStatus();
  }

  void Abort() override { link_->Fail(errors::Aborted("the communicator of simulated GPUs was aborted")); }

 private:
  const std::shared_ptr<Link> link_;
  const int rank_, size_;
  std::thread thread_;
};

class SimulatedLibrary : public GpuCollectiveLibrary {
 public:
  const std::string& name() const override { return name_; }
  absl::Status Serves(const GpuRuntime& gpu) const override {
    if (dynamic_cast<const SimulatedGpu*>(&gpu) != nullptr) return absl::OkStatus();
    return errors::Unavailable(gpu.properties().name, " is not simulated");
  }
  std::string PlaceOf(const GpuRuntime&) const override { return ""; }
  absl::StatusOr<GpuCollectiveId> NewId() override {
    ASSIGN_OR_RETURN(std::unique_ptr<SimulatedGpuHub> hub, SimulatedGpuHub::Create());
    const GpuCollectiveId id = hub->id();
    MutexLock lock(mu_);
    hubs_.push_back(std::move(hub));
    return id;
  }
  absl::StatusOr<std::unique_ptr<GpuCommunicator>> Connect(GpuRuntime& gpu, const GpuCollectiveId& id, int rank,
                                                           int size) override {
    RETURN_IF_ERROR(Serves(gpu));
    ASSIGN_OR_RETURN(HostSocket socket, ConnectToHub(id));
    const HubHello hello{rank, size};
    RETURN_IF_ERROR(WriteMessage(socket, HubMessage::Kind::kHello,
                                 absl::string_view(reinterpret_cast<const char*>(&hello), sizeof(hello))));
    return std::make_unique<SimulatedCommunicator>(std::make_shared<Link>(std::move(socket), rank, size), rank, size);
  }

 private:
  const std::string name_ = "simulated";
  Mutex mu_;
  std::vector<std::unique_ptr<SimulatedGpuHub>> hubs_
      GUARDED_BY(mu_);  // one for each id, until the library is destroyed
};

}  // namespace

std::shared_ptr<GpuCollectiveLibrary> NewSimulatedGpuCollectives() { return std::make_shared<SimulatedLibrary>(); }

}  // namespace weir
