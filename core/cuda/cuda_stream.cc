#include "core/cuda/cuda_stream.h"

#include <algorithm>
#include <thread>

#include "absl/cleanup/cleanup.h"
#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/cuda/cuda_status.h"

namespace weir {
namespace {

// CUDA's waits take no deadline, so this polls, at first often, then less.
template <typename IsDone>
absl::Status Poll(absl::Time deadline, absl::string_view what, const IsDone& is_done) {
  constexpr absl::Duration kShortest = absl::Microseconds(2), kLongest = absl::Microseconds(200);
  for (absl::Duration pause = kShortest;; pause = std::min(pause * 2, kLongest)) {
    ASSIGN_OR_RETURN(const bool done, is_done());
    if (done) return absl::OkStatus();
    const absl::Time now = MonotonicNow();
    if (now >= deadline) return errors::DeadlineExceeded(what, " timed out");
    if (pause == kShortest) {
      std::this_thread::yield();
    } else {
      absl::SleepFor(std::min(pause, deadline - now));
    }
  }
}

absl::StatusOr<bool> DoneUnless(cudaError_t error, absl::string_view what) {
  if (error == cudaErrorNotReady) {
    cudaGetLastError();
    return false;
  }
  RETURN_IF_CUDA_ERROR(error, what);
  return true;
}

// While it lives, queries by this thread about work outside of captures do not invalidate a capture: CUDA forbids such
// calls to all threads while one captures with kGlobal.
class OutsideOfCaptures {
 public:
  OutsideOfCaptures() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~OutsideOfCaptures() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  OutsideOfCaptures(const OutsideOfCaptures&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;  // the thread's previous mode while this lives
};

cudaStreamCaptureMode Mode(GpuCaptureMode mode) {
  switch (mode) {
    case GpuCaptureMode::kGlobal:
      return cudaStreamCaptureModeGlobal;
    case GpuCaptureMode::kThreadLocal:
      return cudaStreamCaptureModeThreadLocal;
    default:
      return cudaStreamCaptureModeRelaxed;
  }
}

void CUDART_CB RunCallback(void* data) {
  const std::unique_ptr<absl::AnyInvocable<void()>> callback(static_cast<absl::AnyInvocable<void()>*>(data));
  (*callback)();
}

// A captured callback is kept, because it may run any number of times.
void CUDART_CB RunCapturedCallback(void* data) { (*static_cast<absl::AnyInvocable<void()>*>(data))(); }
void CUDART_CB DeleteCapturedCallback(void* data) { delete static_cast<absl::AnyInvocable<void()>*>(data); }

// Events and waits do not count as operations.
absl::StatusOr<size_t> CountOperations(cudaGraph_t graph) {
  size_t count = 0;
  RETURN_IF_CUDA_ERROR(cudaGraphGetNodes(graph, nullptr, &count), "cudaGraphGetNodes");
  std::vector<cudaGraphNode_t> nodes(count);
  RETURN_IF_CUDA_ERROR(cudaGraphGetNodes(graph, nodes.data(), &count), "cudaGraphGetNodes");
  size_t operations = 0;
  for (cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type;
    RETURN_IF_CUDA_ERROR(cudaGraphNodeGetType(node, &type), "cudaGraphNodeGetType");
    operations +=
        type != cudaGraphNodeTypeEmpty && type != cudaGraphNodeTypeEventRecord && type != cudaGraphNodeTypeWaitEvent;
  }
  return operations;
}

}  // namespace

absl::Status SelectCudaDevice(int ordinal) {
  int current = -1;
  RETURN_IF_CUDA_ERROR(cudaGetDevice(&current), "cudaGetDevice");
  if (current != ordinal) RETURN_IF_CUDA_ERROR(cudaSetDevice(ordinal), absl::StrCat("cudaSetDevice of GPU ", ordinal));
  return absl::OkStatus();
}

CudaEvent::~CudaEvent() {
  SelectCudaDevice(ordinal_).IgnoreError();
  cudaEventDestroy(event_);
}

absl::StatusOr<bool> CudaEvent::IsDone() {
  RETURN_IF_ERROR(SelectCudaDevice(ordinal_));
  const OutsideOfCaptures scope;
  return DoneUnless(cudaEventQuery(event_), "cudaEventQuery");
}

absl::Status CudaEvent::Synchronize(absl::Time deadline) {
  if (deadline == absl::InfiniteFuture()) {
    RETURN_IF_ERROR(SelectCudaDevice(ordinal_));
    const OutsideOfCaptures scope;
    return CudaStatus(cudaEventSynchronize(event_), "cudaEventSynchronize");
  }
  return Poll(deadline, "Synchronize with an event", [this] { return IsDone(); });
}

CudaTimer::~CudaTimer() {
  SelectCudaDevice(ordinal_).IgnoreError();
  cudaEventDestroy(start_);
  cudaEventDestroy(stop_);
}

absl::Status CudaTimer::Start(GpuStream* stream) {
  RETURN_IF_ERROR(SelectCudaDevice(ordinal_));
  return CudaStatus(cudaEventRecord(start_, static_cast<cudaStream_t>(stream->native())), "starting a timer");
}

absl::Status CudaTimer::Stop(GpuStream* stream) {
  RETURN_IF_ERROR(SelectCudaDevice(ordinal_));
  return CudaStatus(cudaEventRecord(stop_, static_cast<cudaStream_t>(stream->native())), "stopping a timer");
}

absl::StatusOr<std::optional<absl::Duration>> CudaTimer::Elapsed() {
  RETURN_IF_ERROR(SelectCudaDevice(ordinal_));
  const OutsideOfCaptures scope;
  ASSIGN_OR_RETURN(const bool is_over, DoneUnless(cudaEventQuery(stop_), "reading a timer"));
  if (!is_over) return std::nullopt;
  float milliseconds = 0;
  RETURN_IF_CUDA_ERROR(cudaEventElapsedTime(&milliseconds, start_, stop_), "reading a timer");
  return absl::Milliseconds(milliseconds);
}

CudaGraph::~CudaGraph() {
  SelectCudaDevice(ordinal_).IgnoreError();
  cudaGraphExecDestroy(executable_);
}

CudaStream::~CudaStream() {
  SelectCudaDevice(ordinal_).IgnoreError();
  cudaStreamDestroy(stream_);
}

std::string CudaStream::What(absl::string_view operation) const {
  return absl::StrCat(operation, " on stream '", name_, "' of GPU ", ordinal_);
}

absl::Status CudaStream::Copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, absl::string_view what) {
  if (bytes == 0) return absl::OkStatus();
  RETURN_IF_ERROR(SelectCudaDevice(ordinal_));
  RETURN_IF_CUDA_ERROR(cudaMemcpyAsync(to, from, bytes, kind, stream_), What(what));
  return absl::OkStatus();
}

absl::Status CudaStream::CopyToDevice(void* device, const void* pinned, size_t bytes) {
  return Copy(device, pinned, bytes, cudaMemcpyHostToDevice, "copy to device");
}
absl::Status CudaStream::CopyToHost(void* pinned, const void* device, size_t bytes) {
  return Copy(pinned, device, bytes, cudaMemcpyDeviceToHost, "copy to host");
}
absl::Status CudaStream::CopyOnDevice(void* to, const void* from, size_t bytes) {
  return Copy(to, from, bytes, cudaMemcpyDeviceToDevice, "copy on device");
}

absl::Status CudaStream::CopyToPeer(GpuStream* theirs, void* to, const void* from, size_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  if (!runtime_->Reaches(*theirs->runtime())) {
    return errors::InvalidArgument(What("copy to peer"), ": it does not reach ",
                                   theirs->runtime()->properties().pci_bus_id);
  }
  const int peer = static_cast<CudaStream*>(theirs)->ordinal_;
  ASSIGN_OR_RETURN(const std::unique_ptr<GpuEvent> free, theirs->runtime()->CreateEvent());
  RETURN_IF_ERROR(theirs->Record(free.get()));
  RETURN_IF_ERROR(Wait(*free));
  RETURN_IF_CUDA_ERROR(cudaMemcpyPeerAsync(to, peer, from, ordinal_, bytes, stream_), What("copy to peer"));
  ASSIGN_OR_RETURN(const std::unique_ptr<GpuEvent> written, runtime_->CreateEvent());
  RETURN_IF_ERROR(Record(written.get()));
  return theirs->Wait(*written);
}

absl::Status CudaStream::Fill(void* device, uint8_t value, size_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  RETURN_IF_ERROR(SelectCudaDevice(ordinal_));
  RETURN_IF_CUDA_ERROR(cudaMemsetAsync(device, value, bytes, stream_), What("fill"));
  return absl::OkStatus();
}

absl::Status CudaStream::Launch(const GpuKernel& kernel, absl::Span<const char> args, absl::Span<const GpuAccess>) {
  if (args.size() > kMaxGpuKernelArgs) return GpuStatus(GpuError::kInvalidValue, kernel.name);
  if (kernel.launch == nullptr) return errors::Unimplemented("The kernel ", kernel.name, " has no version for CUDA");
  RETURN_IF_ERROR(SelectCudaDevice(ordinal_));
  RETURN_IF_CUDA_ERROR(static_cast<cudaError_t>(kernel.launch(stream_, args.data())), What(kernel.name));
  return absl::OkStatus();
}

absl::Status CudaStream::Call(absl::AnyInvocable<void()> callback) {
  RETURN_IF_ERROR(SelectCudaDevice(ordinal_));
  auto owned = std::make_unique<absl::AnyInvocable<void()>>(std::move(callback));
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  cudaGraph_t graph = nullptr;
  RETURN_IF_CUDA_ERROR(cudaStreamGetCaptureInfo(stream_, &capture, nullptr, &graph, nullptr, nullptr, nullptr),
                       What("callback"));
  if (capture == cudaStreamCaptureStatusNone) {
    RETURN_IF_CUDA_ERROR(cudaLaunchHostFunc(stream_, RunCallback, owned.get()), What("callback"));
    owned.release();  // RunCallback now owns it; it leaks if the device breaks first
    return absl::OkStatus();
  }
  // Owned by the graph and by its instances.
  cudaUserObject_t keeper;
  RETURN_IF_CUDA_ERROR(
      cudaUserObjectCreate(&keeper, owned.get(), DeleteCapturedCallback, 1, cudaUserObjectNoDestructorSync),
      What("callback"));
  auto* const data = owned.release();
  if (const cudaError_t error = cudaGraphRetainUserObject(graph, keeper, 1, cudaGraphUserObjectMove)) {
    cudaUserObjectRelease(keeper, 1);
    return CudaStatus(error, What("callback"));
  }
  RETURN_IF_CUDA_ERROR(cudaLaunchHostFunc(stream_, RunCapturedCallback, data), What("callback"));
  return absl::OkStatus();
}

absl::Status CudaStream::Record(GpuEvent* event) {
  RETURN_IF_ERROR(SelectCudaDevice(ordinal_));
  RETURN_IF_CUDA_ERROR(cudaEventRecord(static_cast<CudaEvent*>(event)->native(), stream_), What("Record"));
  return absl::OkStatus();
}

absl::Status CudaStream::Wait(const GpuEvent& event) {
  RETURN_IF_ERROR(SelectCudaDevice(ordinal_));
  RETURN_IF_CUDA_ERROR(cudaStreamWaitEvent(stream_, static_cast<const CudaEvent&>(event).native(), 0), What("Wait"));
  return absl::OkStatus();
}

absl::StatusOr<bool> CudaStream::IsIdle() {
  RETURN_IF_ERROR(SelectCudaDevice(ordinal_));
  const OutsideOfCaptures scope;
  return DoneUnless(cudaStreamQuery(stream_), What("IsIdle"));
}

absl::Status CudaStream::Synchronize(absl::Time deadline) {
  if (deadline == absl::InfiniteFuture()) {
    RETURN_IF_ERROR(SelectCudaDevice(ordinal_));
    const OutsideOfCaptures scope;
    return CudaStatus(cudaStreamSynchronize(stream_), What("Synchronize"));
  }
  return Poll(deadline, What("Synchronize"), [this] { return IsIdle(); });
}

absl::Status CudaStream::BeginCapture(GpuCaptureMode mode) {
  RETURN_IF_ERROR(SelectCudaDevice(ordinal_));
  RETURN_IF_CUDA_ERROR(cudaStreamBeginCapture(stream_, Mode(mode)), What("BeginCapture"));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<GpuGraph>> CudaStream::EndCapture() {
  RETURN_IF_ERROR(SelectCudaDevice(ordinal_));
  cudaGraph_t graph = nullptr;
  RETURN_IF_CUDA_ERROR(cudaStreamEndCapture(stream_, &graph), What("EndCapture"));
  const auto destroy = absl::MakeCleanup([graph] { cudaGraphDestroy(graph); });
  ASSIGN_OR_RETURN(const size_t num_operations, CountOperations(graph));
  cudaGraphExec_t executable = nullptr;
  RETURN_IF_CUDA_ERROR(cudaGraphInstantiate(&executable, graph, 0), What("EndCapture"));
  return std::make_unique<CudaGraph>(ordinal_, executable, num_operations);
}

bool CudaStream::IsCapturing() const {
  if (!SelectCudaDevice(ordinal_).ok()) return false;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (cudaStreamIsCapturing(stream_, &status) != cudaSuccess) {
    cudaGetLastError();
    return false;
  }
  return status != cudaStreamCaptureStatusNone;
}

absl::Status CudaStream::LaunchGraph(GpuGraph* graph) {
  RETURN_IF_ERROR(SelectCudaDevice(ordinal_));
  RETURN_IF_CUDA_ERROR(cudaGraphLaunch(static_cast<CudaGraph*>(graph)->native(), stream_), What("LaunchGraph"));
  return absl::OkStatus();
}

}  // namespace weir
