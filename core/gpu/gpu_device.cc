#include "core/gpu/gpu_device.h"

#include <cstring>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/device/device_view.h"
#include "core/device/incarnation.h"
#include "core/gpu/gpu_capture.h"
#include "core/gpu/gpu_error.h"
#include "core/logging.h"

namespace weir {
namespace {

DeviceName GpuName(DeviceName task, int id) {
  task.type = kDeviceGpu;
  task.id = id;
  return task;
}

absl::Status CheckCopyable(const Tensor& tensor, absl::string_view device) {
  if (tensor.dtype() == DT_STRING || tensor.dtype() == DT_RESOURCE || tensor.dtype() == DT_VARIANT) {
    return errors::InvalidArgument("A tensor of type ", DataTypeName(tensor.dtype()), " cannot be copied to or from ",
                                   device);
  }
  if (!tensor.IsInitialized()) return errors::Internal("Cannot copy an uninitialised tensor to or from ", device);
  return absl::OkStatus();
}

absl::Status WithMessage(const absl::Status& error, absl::string_view message) {
  absl::Status changed(error.code(), message);
  error.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) { changed.SetPayload(url, payload); });
  return changed;
}

}  // namespace

struct GpuDevice::Core {
  Core(std::shared_ptr<GpuRuntime> runtime_in, const Options& options, std::unique_ptr<GpuStream> compute_in,
       std::unique_ptr<GpuStream> to_device_in, std::unique_ptr<GpuStream> to_host_in,
       std::unique_ptr<GpuStream> to_peers_in, std::unique_ptr<GpuStream> from_peers_in)
      : runtime(std::move(runtime_in)),
        compute(std::move(compute_in)),
        to_device(std::move(to_device_in)),
        to_host(std::move(to_host_in)),
        to_peers(std::move(to_peers_in)),
        from_peers(std::move(from_peers_in)),
        memory(runtime.get(), {.name = absl::StrCat("GPU_", options.id, "_bfc"),
                               .memory = options.config.unified_memory ? GpuAllocator::Memory::kManaged
                                                                       : GpuAllocator::Memory::kDevice,
                               .limit = options.config.memory_limit,
                               .allow_growth = options.config.allow_growth,
                               .retry_for = options.retry_for}),
        pinned(runtime.get(), {.name = "gpu_host_bfc",
                               .memory = GpuAllocator::Memory::kPinned,
                               .limit = options.pinned_limit,
                               .allow_growth = true,
                               .retry_for = options.retry_for}),
        tensors(&memory, compute.get()),
        arriving_tensors(&memory, to_device.get()),
        peer_tensors(&memory, from_peers.get()) {}

  const std::shared_ptr<GpuRuntime> runtime;
  const std::unique_ptr<GpuStream> compute, to_device, to_host, to_peers, from_peers;
  std::recursive_mutex copies;  // held while a copy and its ordering are enqueued, or to keep copies out
  Mutex mu;
  std::vector<std::shared_ptr<GpuStream>> further GUARDED_BY(mu);  // unreferenced elsewhere when free
  GpuAllocator memory, pinned;
  GpuTensorAllocator tensors, arriving_tensors, peer_tensors;

  std::vector<GpuStream*> Streams() {
    std::vector<GpuStream*> streams = {compute.get(), to_device.get(), to_host.get(), to_peers.get(), from_peers.get()};
    MutexLock lock(mu);
    for (const auto& stream : further) streams.push_back(stream.get());
    return streams;
  }
};

class GpuDevice::PinnedBuffer : public TensorBuffer {
 public:
  PinnedBuffer(std::shared_ptr<Core> core, void* data, size_t bytes)
      : TensorBuffer(data, bytes), core_(std::move(core)) {}

 private:
  ~PinnedBuffer() override { core_->pinned.Free(data()); }

  const std::shared_ptr<Core> core_;
};

absl::StatusOr<std::unique_ptr<GpuDevice>> GpuDevice::Create(std::shared_ptr<GpuRuntime> runtime, WorkQueue* work_queue,
                                                             Options options) {
  ASSIGN_OR_RETURN(auto compute, runtime->CreateStream("compute"));
  ASSIGN_OR_RETURN(auto to_device, runtime->CreateStream("to device"));
  ASSIGN_OR_RETURN(auto to_host, runtime->CreateStream("to host"));
  ASSIGN_OR_RETURN(auto to_peers, runtime->CreateStream("to peers"));
  ASSIGN_OR_RETURN(auto from_peers, runtime->CreateStream("from peers"));
  auto core = std::make_shared<Core>(std::move(runtime), options, std::move(compute), std::move(to_device),
                                     std::move(to_host), std::move(to_peers), std::move(from_peers));
  std::unique_ptr<GpuDevice> device(new GpuDevice(std::move(core), work_queue, std::move(options)));
  WEIR_LOG(INFO) << "Created device " << device->name() << " with " << (device->options_.config.memory_limit >> 20)
                 << " MB memory: -> " << device->physical_description();
  return device;
}

GpuDevice::GpuDevice(std::shared_ptr<Core> core, WorkQueue* work_queue, Options options)
    : Device(GpuName(options.task, options.id), NewIncarnation(), static_cast<int64_t>(options.config.memory_limit)),
      core_(std::move(core)),
      work_queue_(work_queue),
      options_(std::move(options)),
      completions_(options_.completions) {
  core_->memory.SetReclaim([this] {
    MutexLock lock(caches_mu_);
    for (GpuGraphCache* cache : caches_) cache->DropGraphs();
  });
}

void GpuDevice::AddGraphCache(GpuGraphCache* cache) {
  MutexLock lock(caches_mu_);
  caches_.push_back(cache);
}

void GpuDevice::RemoveGraphCache(GpuGraphCache* cache) {
  MutexLock lock(caches_mu_);
  std::erase(caches_, cache);
}

GpuDevice::~GpuDevice() {
  resources()->Clear();
  const absl::Time deadline = MonotonicNow() + options_.completions.patience;
  for (GpuStream* stream : core_->Streams()) {
    if (const absl::Status status = stream->Synchronize(deadline); !status.ok()) {
      WEIR_LOG(WARNING).With("device", name())
          << "stream '" << stream->name() << "' did not finish: " << status.message();
    }
  }
}

Allocator* GpuDevice::allocator() { return &core_->tensors; }
GpuRuntime& GpuDevice::runtime() { return *core_->runtime; }
const GpuRuntime& GpuDevice::runtime() const { return *core_->runtime; }
GpuStream& GpuDevice::compute() { return *core_->compute; }
GpuStream& GpuDevice::kernel_stream() {
  GpuCapture* const capture = GpuCapture::Current();
  return capture != nullptr && &capture->device() == this ? capture->stream() : compute();
}
GpuAllocator& GpuDevice::memory() { return core_->memory; }

absl::StatusOr<std::shared_ptr<GpuStream>> GpuDevice::BorrowStream(const std::string& name) {
  MutexLock lock(core_->mu);
  for (const auto& stream : core_->further) {
    if (stream.use_count() == 1 && stream->name() == name) return stream;
  }
  ASSIGN_OR_RETURN(std::unique_ptr<GpuStream> made, core_->runtime->CreateStream(name));
  return core_->further.emplace_back(std::move(made));
}

std::string GpuDevice::physical_description() const {
  return PhysicalGpuDescription(options_.config.physical_id, core_->runtime->properties());
}

int GpuDevice::numa_node() const { return core_->runtime->properties().numa_node; }

absl::Status GpuDevice::Order(GpuStream& before, GpuStream& after) {
  ASSIGN_OR_RETURN(const std::unique_ptr<GpuEvent> event, core_->runtime->CreateEvent());
  RETURN_IF_ERROR(before.Record(event.get()));
  return after.Wait(*event);
}

absl::StatusOr<Tensor> GpuDevice::AllocatePinned(const Tensor& like) {
  const size_t bytes = static_cast<size_t>(like.TotalBytes());
  ASSIGN_OR_RETURN(void* const data, core_->pinned.Allocate(bytes, nullptr, MonotonicNow() + options_.retry_for));
  return Tensor::FromBuffer(like.dtype(), like.shape(), new PinnedBuffer(core_, data, bytes));
}

absl::Status GpuDevice::CheckNotCapturing() const {
  if (GpuCapture::Current() == nullptr && !core_->compute->IsCapturing()) return absl::OkStatus();
  return errors::FailedPrecondition("Copies to and from ", name(), " are not possible while it captures a graph");
}

absl::StatusOr<Tensor> GpuDevice::ToDevice(const Tensor& host) {
  RETURN_IF_ERROR(CheckCopyable(host, name()));
  RETURN_IF_ERROR(CheckNotCapturing());
  absl::StatusOr<Tensor> device = Tensor::Allocate(&core_->arriving_tensors, host.dtype(), host.shape());
  if (!device.ok()) return Explain(device.status());
  if (host.NumElements() == 0) return device;
  const size_t bytes = static_cast<size_t>(host.TotalBytes());
  ASSIGN_OR_RETURN(const Tensor pinned, AllocatePinned(host));
  core_->runtime->HostAccess("staging", GpuAccess::Write(pinned.raw_data(), bytes));
  std::memcpy(pinned.raw_data(), host.raw_data(), bytes);
  // Even on failure the memory belongs to the streams until they are done with it.
  core_->pinned.AddUse(pinned.raw_data(), core_->to_device.get());
  core_->memory.AddUse(device->raw_data(), core_->compute.get());
  RETURN_IF_ERROR(core_->to_device->CopyToDevice(device->raw_data(), pinned.raw_data(), bytes));
  RETURN_IF_ERROR(Order(*core_->to_device, *core_->compute));
  return device;
}

absl::StatusOr<Tensor> GpuDevice::StartToHost(const Tensor& device) {
  RETURN_IF_ERROR(CheckCopyable(device, name()));
  RETURN_IF_ERROR(CheckNotCapturing());
  if (device.NumElements() == 0) return Tensor::Allocate(host_allocator(), device.dtype(), device.shape());
  ASSIGN_OR_RETURN(Tensor host, AllocatePinned(device));
  const std::lock_guard<std::recursive_mutex> lock(core_->copies);
  RETURN_IF_ERROR(Order(*core_->compute, *core_->to_host));
  core_->pinned.AddUse(host.raw_data(), core_->to_host.get());
  core_->memory.AddUse(device.raw_data(), core_->to_host.get());
  RETURN_IF_ERROR(core_->to_host->CopyToHost(host.raw_data(), device.raw_data(), device.TotalBytes()));
  return host;
}

void GpuDevice::ToHost(const Tensor& device, std::function<void(absl::StatusOr<Tensor>)> done) {
  absl::StatusOr<Tensor> host = StartToHost(device);
  if (!host.ok() || host->NumElements() == 0) return done(std::move(host));
  // While `source` is held, no kernel writes the tensor in place during the copy.
  completions_.Then(core_->to_host.get(), [this, source = device, host = *std::move(host),
                                           done = std::move(done)](absl::Status status) mutable {
    source = Tensor();
    if (!status.ok()) return done(std::move(status));
    core_->runtime->HostAccess("arrived", GpuAccess::Read(host.raw_data(), host.TotalBytes()));
    done(std::move(host));
  });
}

absl::StatusOr<std::unique_lock<std::recursive_mutex>> GpuDevice::LockCopies(const Tensor& value) {
  std::unique_lock<std::recursive_mutex> lock(core_->copies);
  RETURN_IF_ERROR(core_->memory.AwaitUses(value.raw_data(), core_->compute.get()));
  return lock;
}

GpuDevice* GpuDevice::FindPeer(absl::string_view name) const {
  for (GpuDevice* peer : peers_) {
    if (peer == this || peer->name() != name) continue;
    const bool is_near =
        core_->runtime->Reaches(*peer->core_->runtime) && peer->core_->runtime->Reaches(*core_->runtime);
    return is_near ? peer : nullptr;
  }
  return nullptr;
}

absl::StatusOr<Tensor> GpuDevice::FromPeer(const Tensor& theirs, GpuDevice& peer) {
  RETURN_IF_ERROR(CheckCopyable(theirs, name()));
  RETURN_IF_ERROR(CheckNotCapturing());
  RETURN_IF_ERROR(peer.CheckNotCapturing());
  absl::StatusOr<Tensor> ours = Tensor::Allocate(&core_->peer_tensors, theirs.dtype(), theirs.shape());
  if (!ours.ok()) return Explain(ours.status());
  if (theirs.NumElements() == 0) return ours;
  Core& from = *peer.core_;
  from.memory.AddUse(theirs.raw_data(), from.to_peers.get());
  core_->memory.AddUse(ours->raw_data(), core_->compute.get());
  absl::Status sent;
  {
    const std::lock_guard<std::recursive_mutex> lock(from.copies);
    sent = peer.Order(*from.compute, *from.to_peers);
    if (sent.ok()) {
      sent = from.to_peers->CopyToPeer(core_->from_peers.get(), ours->raw_data(), theirs.raw_data(),
                                       static_cast<size_t>(theirs.TotalBytes()));
    }
  }
  if (!sent.ok()) return peer.Explain(std::move(sent));
  // While it is held, no kernel writes the tensor in place during the read.
  peer.completions_.Then(from.to_peers.get(), [held = theirs](const absl::Status&) {});
  RETURN_IF_ERROR(Order(*core_->from_peers, *core_->compute));
  return ours;
}

absl::Status GpuDevice::Explain(absl::Status error) const {
  if (const std::optional<GpuError> own = GpuErrorOf(error); own && IsSticky(*own)) return Located(error);
  if (!absl::IsResourceExhausted(error)) return error;
  // A broken device also fails allocations; report what broke it.
  if (const absl::Status broken = core_->runtime->MemoryInfo().status(); !broken.ok()) return Located(broken);
  const std::string failure = core_->memory.LastFailure();
  if (failure.empty() || absl::StrContains(error.message(), failure)) return error;
  return WithMessage(error, absl::StrCat(error.message(), "; ", failure));
}

absl::Status GpuDevice::Located(const absl::Status& error) const {
  if (absl::StrContains(error.message(), name())) return error;
  return WithMessage(error, absl::StrCat(error.message(), "; ", name(), " is broken until the process restarts"));
}

GpuDevice* FindGpu(Device* device) { return dynamic_cast<GpuDevice*>(BehindViews(device)); }
const GpuDevice* FindGpu(const Device* device) { return dynamic_cast<const GpuDevice*>(BehindViews(device)); }

}  // namespace weir
