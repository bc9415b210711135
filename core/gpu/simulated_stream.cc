#include "core/gpu/simulated_stream.h"

#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace weir {
namespace {

using Kind = SimulatedStep::Kind;

// Data in transit to a peer. The peer proceeds when it has arrived, or when it never will because the source device
// broke.
class Crossing {
 public:
  ~Crossing() {
    if (arrive_ != nullptr) arrive_();
  }
  const std::shared_ptr<std::vector<char>>& content() const { return content_; }
  void Leave(std::vector<char> bytes) {
    *content_ = std::move(bytes);
    std::function<void()> arrive;
    {
      MutexLock lock(mu_);
      has_left_ = true;
      arrive = std::exchange(arrive_, nullptr);
    }
    if (arrive != nullptr) arrive();
  }
  void ArriveBy(std::function<void()> arrive) {
    {
      MutexLock lock(mu_);
      if (!has_left_) {
        arrive_ = std::move(arrive);
        return;
      }
    }
    arrive();
  }

 private:
  const std::shared_ptr<std::vector<char>> content_ = std::make_shared<std::vector<char>>();
  Mutex mu_;
  bool has_left_ GUARDED_BY(mu_) = false;
  std::function<void()> arrive_ GUARDED_BY(mu_);
};

}  // namespace

SimulatedStream::SimulatedStream(SimulatedGpu* gpu, std::string name, int actor)
    : gpu_(gpu), name_(std::move(name)), actor_(actor) {}

SimulatedStream::~SimulatedStream() {
  std::deque<Queued> dropped;  // destroyed with no lock held
  {
    MutexLock lock(gpu_->mu_);
    stopping_ = true;
    hung_ = true;
    dropped.swap(queue_);
    gpu_->changed_.notify_all();
    while (busy_) lock.Wait(gpu_->changed_);
    std::erase(gpu_->streams_, this);
    if (capture_ != nullptr) capture_->valid = false;
  }
  if (thread_.joinable()) thread_.join();
}

absl::Status SimulatedStream::CopyToDevice(void* device, const void* pinned, size_t bytes) {
  return Copy("copy to device", device, pinned, bytes, false, true);
}
absl::Status SimulatedStream::CopyToHost(void* pinned, const void* device, size_t bytes) {
  return Copy("copy to host", pinned, device, bytes, true, false);
}
absl::Status SimulatedStream::CopyOnDevice(void* to, const void* from, size_t bytes) {
  return Copy("copy on device", to, from, bytes, false, false);
}

absl::Status SimulatedStream::Copy(absl::string_view what, void* to, const void* from, size_t bytes, bool to_pinned,
                                   bool from_pinned) {
  if (bytes == 0) return absl::OkStatus();
  {
    MutexLock lock(gpu_->mu_);
    RETURN_IF_ERROR(gpu_->Enter(what));
    for (const auto& [data, pinned] :
         {std::pair<const void*, bool>(to, to_pinned), std::pair<const void*, bool>(from, from_pinned)}) {
      if (gpu_->IsAllocated(data, bytes, pinned)) continue;
      return GpuStatus(GpuError::kInvalidValue, absl::StrCat(what, " of ", bytes, " bytes, which are not allocated as ",
                                                             pinned ? "pinned" : "device", " memory"));
    }
  }
  return gpu_->Enqueue(this, {.name = std::string(what),
                              .work = [to, from, bytes] { std::memmove(to, from, bytes); },
                              .accesses = {GpuAccess::Read(from, bytes), GpuAccess::Write(to, bytes)}});
}

absl::Status SimulatedStream::CopyToPeer(GpuStream* theirs, void* to, const void* from, size_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  auto* const peer = dynamic_cast<SimulatedGpu*>(theirs->runtime());
  if (peer == nullptr) return GpuStatus(GpuError::kInvalidDevice, "copy to peer");
  for (const auto& [gpu, data] : {std::pair<SimulatedGpu*, const void*>(peer, to), {gpu_, from}}) {
    MutexLock lock(gpu->mu_);
    RETURN_IF_ERROR(gpu->Enter("copy to peer"));
    if (gpu->IsAllocated(data, bytes, false)) continue;
    return GpuStatus(GpuError::kInvalidValue,
                     absl::StrCat("copy to peer of ", bytes, " bytes, which are not allocated as device memory"));
  }
  // The first half is enqueued first: an operation enqueued here in between must not wait for a half that does not
  // exist yet.
  auto crossing = std::make_shared<Crossing>();
  RETURN_IF_ERROR(gpu_->Enqueue(this, {.name = "copy to peer",
                                       .work =
                                           [crossing, from, bytes] {
                                             const char* const begin = static_cast<const char*>(from);
                                             crossing->Leave({begin, begin + bytes});
                                           },
                                       .accesses = {GpuAccess::Read(from, bytes)}}));
  auto content = crossing->content();
  ASSIGN_OR_RETURN(
      std::function<void()> arrive,
      peer->EnqueueExchange(theirs, {.name = "copy from peer",
                                     .begin = [] {},
                                     .end = [content, to] { std::memcpy(to, content->data(), content->size()); },
                                     .writes = {GpuAccess::Write(to, bytes)}}));
  crossing->ArriveBy(std::move(arrive));
  return absl::OkStatus();
}

absl::Status SimulatedStream::Fill(void* device, uint8_t value, size_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  return gpu_->Enqueue(this, {.name = "fill",
                              .work = [device, value, bytes] { std::memset(device, value, bytes); },
                              .accesses = {GpuAccess::Write(device, bytes)}});
}

absl::Status SimulatedStream::Launch(const GpuKernel& kernel, absl::Span<const char> args,
                                     absl::Span<const GpuAccess> accesses) {
  if (args.size() > kMaxGpuKernelArgs) return GpuStatus(GpuError::kInvalidValue, kernel.name);
  if (kernel.simulate == nullptr) {
    return errors::Unimplemented("The kernel ", kernel.name, " has no version for the simulated device");
  }
  struct alignas(std::max_align_t) Args {
    char bytes[kMaxGpuKernelArgs];
  };
  auto copy = std::make_shared<Args>();
  if (!args.empty()) std::memcpy(copy->bytes, args.data(), args.size());
  return gpu_->Enqueue(this, {.name = kernel.name,
                              .work = [simulate = kernel.simulate, copy] { simulate(copy->bytes); },
                              .accesses = {accesses.begin(), accesses.end()}});
}

absl::Status SimulatedStream::Call(absl::AnyInvocable<void()> callback) {
  auto shared = std::make_shared<absl::AnyInvocable<void()>>(std::move(callback));
  return gpu_->Enqueue(this, {.kind = Kind::kCallback, .name = "callback", .work = [shared] { (*shared)(); }});
}

absl::Status SimulatedStream::Record(GpuEvent* event) {
  auto* const simulated = static_cast<SimulatedEvent*>(event);
  {
    MutexLock lock(gpu_->mu_);
    RETURN_IF_ERROR(gpu_->Enter("Record"));
    if (simulated->gpu_ != gpu_) return GpuStatus(GpuError::kInvalidResourceHandle, "Record");
    if (capture_ != nullptr) {
      if (!capture_->valid) return GpuStatus(GpuError::kStreamCaptureInvalidated, "Record");
      simulated->mark_ = nullptr;
      simulated->capture_ = capture_;
      simulated->signal_ = capture_->Record(lane_);
      return absl::OkStatus();
    }
    simulated->capture_ = nullptr;
    simulated->mark_ = std::make_shared<SimulatedMark>();
  }
  return gpu_->Enqueue(this, {.kind = Kind::kRecord, .name = "record", .mark = simulated->mark_});
}

absl::Status SimulatedStream::Wait(const GpuEvent& event) {
  const auto& simulated = static_cast<const SimulatedEvent&>(event);
  std::shared_ptr<SimulatedMark> mark;
  {
    MutexLock lock(gpu_->mu_);
    RETURN_IF_ERROR(gpu_->Enter("Wait"));
    if (simulated.gpu_ != gpu_) return GpuStatus(GpuError::kInvalidResourceHandle, "Wait");
    if (capture_ != nullptr || simulated.capture_ != nullptr) return WaitInCapture(simulated);
    mark = simulated.mark_;
  }
  if (mark == nullptr) return absl::OkStatus();
  return gpu_->Enqueue(this, {.kind = Kind::kWait, .name = "wait", .mark = std::move(mark)});
}

// Called with the device's lock held.
absl::Status SimulatedStream::WaitInCapture(const SimulatedEvent& event) {
  if (capture_ != nullptr && !capture_->valid) return GpuStatus(GpuError::kStreamCaptureInvalidated, "Wait");
  if (event.capture_ == nullptr) {
    if (event.mark_ == nullptr) return absl::OkStatus();
    capture_->valid = false;
    return GpuStatus(GpuError::kStreamCaptureIsolation, "Wait for an event from outside of the capture");
  }
  if (!event.capture_->active) return GpuStatus(GpuError::kCapturedEvent, "Wait for an event of a capture that ended");
  if (capture_ != nullptr && capture_ != event.capture_) {
    capture_->valid = event.capture_->valid = false;
    return GpuStatus(GpuError::kStreamCaptureMerge, "Wait");
  }
  if (capture_ == nullptr) {
    capture_ = event.capture_;
    lane_ = capture_->AddLane(this);
  }
  capture_->Wait(lane_, event.signal_);
  return absl::OkStatus();
}

// Called with the device's lock held.
absl::Status SimulatedStream::CheckNotCapturing(absl::string_view what) {
  RETURN_IF_ERROR(gpu_->Enter(what));
  if (capture_ == nullptr) return absl::OkStatus();
  capture_->valid = false;
  return GpuStatus(GpuError::kStreamCaptureUnsupported, what);
}

absl::StatusOr<bool> SimulatedStream::IsIdle() {
  gpu_->RunSome();
  MutexLock lock(gpu_->mu_);
  RETURN_IF_ERROR(CheckNotCapturing("IsIdle"));
  if (!Idle()) return false;
  gpu_->checker_.Join(RaceChecker::kHost, gpu_->checker_.Now(actor_));
  return true;
}

absl::Status SimulatedStream::Synchronize(absl::Time deadline) {
  {
    MutexLock lock(gpu_->mu_);
    RETURN_IF_ERROR(CheckNotCapturing("Synchronize"));
  }
  RETURN_IF_ERROR(
      gpu_->WaitUntil(deadline, absl::StrCat("Synchronize with stream '", name_, "'"), [this] { return Idle(); }));
  MutexLock lock(gpu_->mu_);
  gpu_->checker_.Join(RaceChecker::kHost, gpu_->checker_.Now(actor_));
  return absl::OkStatus();
}

bool SimulatedStream::IsCapturing() const {
  MutexLock lock(gpu_->mu_);
  return capture_ != nullptr;
}

absl::Status SimulatedStream::BeginCapture(GpuCaptureMode mode) {
  MutexLock lock(gpu_->mu_);
  RETURN_IF_ERROR(gpu_->Enter("BeginCapture"));
  if (capture_ != nullptr) return GpuStatus(GpuError::kIllegalState, "BeginCapture");
  capture_ = std::make_shared<SimulatedCapture>();
  capture_->mode = mode;
  capture_->thread = std::this_thread::get_id();
  lane_ = capture_->AddLane(this);
  gpu_->captures_.push_back(capture_);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<GpuGraph>> SimulatedStream::EndCapture() {
  MutexLock lock(gpu_->mu_);
  RETURN_IF_ERROR(gpu_->Enter("EndCapture"));
  if (capture_ == nullptr) return GpuStatus(GpuError::kIllegalState, "EndCapture");
  const std::shared_ptr<SimulatedCapture> capture = capture_;
  if (capture->lanes[0] != this) {
    capture->valid = false;
    return GpuStatus(GpuError::kStreamCaptureUnmatched, "EndCapture");
  }
  if (capture->mode != GpuCaptureMode::kRelaxed && capture->thread != std::this_thread::get_id()) {
    return GpuStatus(GpuError::kStreamCaptureWrongThread, "EndCapture");
  }
  capture->active = false;
  for (SimulatedStream* stream : gpu_->streams_) {
    if (stream->capture_ == capture) stream->capture_ = nullptr;
  }
  std::erase_if(gpu_->captures_, [](const auto& weak) { return weak.expired() || !weak.lock()->active; });
  if (!capture->valid) return GpuStatus(GpuError::kStreamCaptureInvalidated, "EndCapture");
  if (!capture->IsJoined()) return GpuStatus(GpuError::kStreamCaptureUnjoined, "EndCapture");
  for (const SimulatedStream* stream : capture->lanes) {
    capture->program->lane_actors.push_back(gpu_->checker_.AddActor(absl::StrCat("captured ", stream->name_)));
  }
  return std::make_unique<SimulatedGraph>(gpu_, capture->program);
}

absl::Status SimulatedStream::LaunchGraph(GpuGraph* graph) {
  auto* const simulated = static_cast<SimulatedGraph*>(graph);
  if (simulated->gpu_ != gpu_) return GpuStatus(GpuError::kInvalidResourceHandle, "LaunchGraph");
  return gpu_->Enqueue(this, {.kind = Kind::kGraph, .name = "graph", .program = simulated->program_});
}

size_t SimulatedGraph::num_operations() const {
  size_t count = 0;
  for (const SimulatedStep& step : program_->steps) count += step.kind != Kind::kRecord && step.kind != Kind::kWait;
  return count;
}

absl::Status SimulatedEvent::CheckNotCaptured(absl::string_view what) {
  RETURN_IF_ERROR(gpu_->Enter(what));
  if (capture_ == nullptr) return absl::OkStatus();
  capture_->valid = false;
  return GpuStatus(GpuError::kCapturedEvent, what);
}

absl::StatusOr<bool> SimulatedEvent::IsDone() {
  gpu_->RunSome();
  MutexLock lock(gpu_->mu_);
  RETURN_IF_ERROR(CheckNotCaptured("IsDone"));
  if (mark_ == nullptr) return true;
  if (!mark_->reached) return false;
  gpu_->checker_.Join(RaceChecker::kHost, mark_->clock);
  return true;
}

absl::Status SimulatedEvent::Synchronize(absl::Time deadline) {
  {
    MutexLock lock(gpu_->mu_);
    RETURN_IF_ERROR(CheckNotCaptured("Synchronize"));
    if (mark_ == nullptr) return absl::OkStatus();
  }
  RETURN_IF_ERROR(gpu_->WaitUntil(deadline, "Synchronize with an event", [this] { return mark_->reached; }));
  MutexLock lock(gpu_->mu_);
  gpu_->checker_.Join(RaceChecker::kHost, mark_->clock);
  return absl::OkStatus();
}

absl::Status SimulatedTimer::Mark(GpuStream* stream, std::optional<Clock::time_point> Times::*time) {
  auto* const simulated = static_cast<SimulatedStream*>(stream);
  {
    MutexLock lock(gpu_->mu_);
    RETURN_IF_ERROR(simulated->CheckNotCapturing("a timer"));
  }
  return gpu_->Enqueue(simulated, {.name = "timer", .work = [times = times_, time] {
                                     MutexLock lock(times->mu);
                                     (*times).*time = Clock::now();
                                   }});
}

absl::StatusOr<std::optional<absl::Duration>> SimulatedTimer::Elapsed() {
  gpu_->RunSome();
  std::optional<absl::Duration> told;
  {
    MutexLock lock(gpu_->mu_);
    RETURN_IF_ERROR(gpu_->Enter("Elapsed"));
    told = gpu_->told_time_;
  }
  MutexLock lock(times_->mu);
  if (!times_->start.has_value() || !times_->stop.has_value()) return std::nullopt;
  if (told.has_value()) return told;
  return absl::FromChrono(*times_->stop - *times_->start);
}

}  // namespace weir
