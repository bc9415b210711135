#include "core/gpu/simulated_gpu.h"

#include <cstdlib>
#include <cstring>

#include "core/gpu/simulated_stream.h"

namespace weir {
namespace {

constexpr size_t kDeviceAlignment = 256;  // as cudaMalloc
constexpr int kFreshByte = 0xA5;          // marks uninitialised memory

}  // namespace

SimulatedGpu::SimulatedGpu(Options options)
    : options_(std::move(options)),
      properties_({.name = options_.name,
                   .pci_bus_id = options_.pci_bus_id,
                   .compute_major = options_.compute_major,
                   .compute_minor = options_.compute_minor,
                   .multiprocessors = 1,
                   .memory_bytes = options_.memory_bytes,
                   .bytes_per_second = options_.bytes_per_second}),
      random_(options_.seed) {}

SimulatedGpu::~SimulatedGpu() {
  for (const auto& [address, allocation] : allocations_) std::free(reinterpret_cast<void*>(address));
}

absl::StatusOr<GpuMemoryInfo> SimulatedGpu::MemoryInfo() {
  MutexLock lock(mu_);
  RETURN_IF_ERROR(Enter("MemoryInfo"));
  return GpuMemoryInfo{.free = options_.memory_bytes - device_bytes_, .total = options_.memory_bytes};
}

absl::StatusOr<void*> SimulatedGpu::AllocateDevice(size_t bytes) {
  return Allocate(bytes, MemoryKind::kDevice, "AllocateDevice");
}
absl::StatusOr<void*> SimulatedGpu::AllocateManaged(size_t bytes) {
  return Allocate(bytes, MemoryKind::kManaged, "AllocateManaged");
}
absl::Status SimulatedGpu::FreeDevice(void* data) { return Free(data, false, "FreeDevice"); }
absl::StatusOr<void*> SimulatedGpu::AllocatePinned(size_t bytes) {
  return Allocate(bytes, MemoryKind::kPinned, "AllocatePinned");
}
absl::Status SimulatedGpu::FreePinned(void* data) { return Free(data, true, "FreePinned"); }

absl::StatusOr<void*> SimulatedGpu::Allocate(size_t bytes, MemoryKind kind, absl::string_view what) {
  MutexLock lock(mu_);
  RETURN_IF_ERROR(Enter(what));
  RETURN_IF_ERROR(CheckNoCapture(what));
  if (bytes == 0) return GpuStatus(GpuError::kInvalidValue, what);
  // Managed memory spills to the host when the device is full; it fails only if the host has too little.
  const size_t free = kind == MemoryKind::kDevice   ? options_.memory_bytes - device_bytes_
                      : kind == MemoryKind::kPinned ? options_.memory_bytes
                                                    : size_t{1} << 40;
  const bool refused = failing_allocations_ > 0 || bytes > free;
  if (failing_allocations_ > 0) --failing_allocations_;
  const size_t rounded = (bytes + kDeviceAlignment - 1) / kDeviceAlignment * kDeviceAlignment;
  void* const data = refused ? nullptr : std::aligned_alloc(kDeviceAlignment, rounded);
  if (data == nullptr) {
    return GpuStatus(GpuError::kMemoryAllocation, absl::StrCat(what, " of ", bytes, " bytes, ", free, " are free"));
  }
  std::memset(data, kFreshByte, bytes);
  allocations_[reinterpret_cast<uintptr_t>(data)] = {bytes, kind};
  if (kind == MemoryKind::kDevice) device_bytes_ += bytes;
  return data;
}

absl::Status SimulatedGpu::Free(void* data, bool pinned, absl::string_view what) {
  if (data == nullptr) return absl::OkStatus();
  {
    MutexLock lock(mu_);
    RETURN_IF_ERROR(Enter(what));
    RETURN_IF_ERROR(CheckNoCapture(what));
    const auto it = allocations_.find(reinterpret_cast<uintptr_t>(data));
    if (it == allocations_.end() || (it->second.kind == MemoryKind::kPinned) != pinned)
      return GpuStatus(GpuError::kInvalidValue, what);
  }
  RETURN_IF_ERROR(WaitUntil(absl::InfiniteFuture(), what, [this] {
    for (const SimulatedStream* stream : streams_) {
      if (!stream->Idle()) return false;
    }
    return true;
  }));
  MutexLock lock(mu_);
  for (const SimulatedStream* stream : streams_) checker_.Join(RaceChecker::kHost, checker_.Now(stream->actor_));
  const auto it = allocations_.find(reinterpret_cast<uintptr_t>(data));
  if (it == allocations_.end()) return GpuStatus(GpuError::kInvalidValue, what);
  checker_.Forget(data, it->second.bytes);
  if (it->second.kind == MemoryKind::kDevice) device_bytes_ -= it->second.bytes;
  allocations_.erase(it);
  std::free(data);
  return absl::OkStatus();
}

bool SimulatedGpu::IsAllocated(const void* data, size_t bytes, std::optional<bool> pinned) const {
  const auto address = reinterpret_cast<uintptr_t>(data);
  auto it = allocations_.upper_bound(address);
  if (it == allocations_.begin()) return false;
  --it;
  const size_t offset = address - it->first;
  return offset <= it->second.bytes && bytes <= it->second.bytes - offset &&
         (!pinned || *pinned == (it->second.kind == MemoryKind::kPinned));
}

absl::Status SimulatedGpu::CheckNoCapture(absl::string_view what) {
  const auto self = std::this_thread::get_id();
  bool refused = false;
  for (const auto& weak : captures_) {
    const auto capture = weak.lock();
    if (capture == nullptr || !capture->active || capture->mode == GpuCaptureMode::kRelaxed) continue;
    if (capture->thread != self && capture->mode != GpuCaptureMode::kGlobal) continue;
    capture->valid = false;
    refused = true;
  }
  return refused ? GpuStatus(GpuError::kStreamCaptureUnsupported, what) : absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<GpuStream>> SimulatedGpu::CreateStream(absl::string_view name) {
  MutexLock lock(mu_);
  RETURN_IF_ERROR(Enter("CreateStream"));
  auto stream = std::make_unique<SimulatedStream>(this, std::string(name), checker_.AddActor(std::string(name)));
  streams_.push_back(stream.get());
  stream->hung_ = hanging_name_ == name;
  if (options_.schedule == Schedule::kThreads) {
    stream->thread_ = std::thread([this, stream = stream.get()] { RunStream(stream); });
  }
  return stream;
}

absl::StatusOr<std::unique_ptr<GpuEvent>> SimulatedGpu::CreateEvent() {
  MutexLock lock(mu_);
  RETURN_IF_ERROR(Enter("CreateEvent"));
  return std::make_unique<SimulatedEvent>(this);
}

absl::StatusOr<std::unique_ptr<GpuTimer>> SimulatedGpu::CreateTimer() {
  MutexLock lock(mu_);
  RETURN_IF_ERROR(Enter("CreateTimer"));
  return std::make_unique<SimulatedTimer>(this);
}

void SimulatedGpu::SetElapsedTime(std::optional<absl::Duration> elapsed) {
  MutexLock lock(mu_);
  told_time_ = elapsed;
}

void SimulatedGpu::FailAllocations(int count) {
  MutexLock lock(mu_);
  failing_allocations_ = count;
}

void SimulatedGpu::FailNextOperation(GpuError error) {
  MutexLock lock(mu_);
  failing_operation_ = error;
}

void SimulatedGpu::Hang(GpuStream* stream) {
  MutexLock lock(mu_);
  static_cast<SimulatedStream*>(stream)->hung_ = true;
}

void SimulatedGpu::Release(GpuStream* stream) {
  MutexLock lock(mu_);
  static_cast<SimulatedStream*>(stream)->hung_ = false;
  changed_.notify_all();
}

void SimulatedGpu::HangStreams(std::string name) {
  MutexLock lock(mu_);
  for (SimulatedStream* stream : streams_) {
    if (stream->name_ == name) stream->hung_ = true;
  }
  hanging_name_ = std::move(name);
}

void SimulatedGpu::ReleaseStreams() {
  MutexLock lock(mu_);
  hanging_name_.reset();
  for (SimulatedStream* stream : streams_) stream->hung_ = false;
  changed_.notify_all();
}

bool SimulatedGpu::HoldsWork() const {
  MutexLock lock(mu_);
  for (const SimulatedStream* stream : streams_) {
    if (stream->hung_ && !stream->queue_.empty()) return true;
  }
  return false;
}

std::vector<std::string> SimulatedGpu::Races() const {
  MutexLock lock(mu_);
  return checker_.races();
}

int64_t SimulatedGpu::NumEnqueued(absl::string_view name) const {
  MutexLock lock(mu_);
  const auto known = num_enqueued_.find(name);
  return known == num_enqueued_.end() ? 0 : known->second;
}

size_t SimulatedGpu::num_allocations() const {
  MutexLock lock(mu_);
  return allocations_.size();
}

size_t SimulatedGpu::bytes_allocated() const {
  MutexLock lock(mu_);
  return device_bytes_;
}

}  // namespace weir
