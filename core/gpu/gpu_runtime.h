// The interface for GPU code: streams, events, memory, copies, kernels, callbacks and graphs of one device. Implemented
// by the CUDA runtime (core/cuda/) and by a simulated device for tests on any machine (simulated_gpu.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "core/status.h"

namespace weir {

class GpuRuntime;

// Memory that an operation touches. The simulated device checks that it is allocated and that no concurrent operation
// touches it; CUDA ignores it.
struct GpuAccess {
  const void* data = nullptr;
  size_t bytes = 0;
  bool writes = false;

  static GpuAccess Read(const void* data, size_t bytes) { return {data, bytes, false}; }
  static GpuAccess Write(void* data, size_t bytes) { return {data, bytes, true}; }
};

// A kernel for both implementations. The arguments are a plain struct, copied at the launch.
struct GpuKernel {
  const char* name = "";
  // Enqueues it on a cudaStream_t and returns a cudaError_t. Null in a build without the toolkit.
  int (*launch)(void* native_stream, const void* args) = nullptr;
  // The same computation on the host.
  void (*simulate)(const void* args) = nullptr;
};
inline constexpr size_t kMaxGpuKernelArgs = 1024;

struct GpuProperties {
  std::string name;        // "NVIDIA H100 80GB HBM3"
  std::string pci_bus_id;  // "0000:00:05.0"
  int compute_major = 0, compute_minor = 0;
  int multiprocessors = 0;
  size_t memory_bytes = 0;
  int numa_node = 0;
  double bytes_per_second = 0;  // memory bandwidth, from clock rate and bus width; 0: unknown
};

struct GpuMemoryInfo {
  size_t free = 0;
  size_t total = 0;
};

// A point in a stream. Not thread-safe while it is being recorded.
class GpuEvent {
 public:
  virtual ~GpuEvent() = default;
  // Whether all work before the last Record is done; true if there was none.
  virtual absl::StatusOr<bool> IsDone() = 0;
  // Blocks until it is. DEADLINE_EXCEEDED says what it waited for.
  virtual absl::Status Synchronize(absl::Time deadline = absl::InfiniteFuture()) = 0;
};

// A captured sequence of operations that can run repeatedly, on the same memory.
class GpuGraph {
 public:
  virtual ~GpuGraph() = default;
  virtual size_t num_operations() const = 0;
};

// Which calls, by which threads, invalidate a capture; as defined by CUDA (allocations and the like). Querying or
// waiting for events and streams outside of the capture never invalidates it.
enum class GpuCaptureMode { kGlobal, kThreadLocal, kRelaxed };

// A queue of operations. Thread-safe; the order of concurrent calls is unspecified.
// - Operations run one after the other, in call order, at some time after the call returned.
// - Operations of two streams are ordered only by Record and Wait, or by the host.
// - Must be idle when destroyed: queued operations may not run.
class GpuStream {
 public:
  virtual ~GpuStream() = default;
  virtual const std::string& name() const = 0;
  virtual GpuRuntime* runtime() const = 0;

  // Host memory must be pinned (GpuRuntime::AllocatePinned).
  virtual absl::Status CopyToDevice(void* device, const void* pinned, size_t bytes) = 0;
  virtual absl::Status CopyToHost(void* pinned, const void* device, size_t bytes) = 0;
  virtual absl::Status CopyOnDevice(void* to, const void* from, size_t bytes) = 0;
  // Copies from this stream's device to another device without the host. The copy runs after everything enqueued on
  // either stream; later operations on this stream run after `from` was read, and those on `theirs` after `to` was
  // written. INVALID_ARGUMENT unless GpuRuntime::Reaches that device.
  virtual absl::Status CopyToPeer(GpuStream* theirs, void* to, const void* from, size_t bytes) = 0;
  virtual absl::Status Fill(void* device, uint8_t value, size_t bytes) = 0;
  // `args` has at most kMaxGpuKernelArgs bytes.
  virtual absl::Status Launch(const GpuKernel& kernel, absl::Span<const char> args,
                              absl::Span<const GpuAccess> accesses) = 0;
  template <typename Args>
  absl::Status LaunchWith(const GpuKernel& kernel, const Args& args, absl::Span<const GpuAccess> accesses) {
    static_assert(sizeof(Args) <= kMaxGpuKernelArgs && std::is_trivially_copyable_v<Args>);
    return Launch(kernel, absl::MakeConstSpan(reinterpret_cast<const char*>(&args), sizeof(Args)), accesses);
  }
  // Runs `callback` on a thread of the runtime; it must not call the runtime. It does not run if the device fails
  // first: use a GpuCompletionQueue to be notified in any case.
  virtual absl::Status Call(absl::AnyInvocable<void()> callback) = 0;

  virtual absl::Status Record(GpuEvent* event) = 0;
  // Later operations on this stream wait for the event's last Record before this call.
  virtual absl::Status Wait(const GpuEvent& event) = 0;
  virtual absl::StatusOr<bool> IsIdle() = 0;
  virtual absl::Status Synchronize(absl::Time deadline = absl::InfiniteFuture()) = 0;

  // Starts recording operations instead of running them. A stream that waits for an event of the capture joins it.
  virtual absl::Status BeginCapture(GpuCaptureMode mode) = 0;
  virtual absl::StatusOr<std::unique_ptr<GpuGraph>> EndCapture() = 0;
  virtual bool IsCapturing() const = 0;
  // Runs the graph as one operation of this stream.
  virtual absl::Status LaunchGraph(GpuGraph* graph) = 0;

  // The cudaStream_t; null on the simulated device.
  virtual void* native() const { return nullptr; }
};

// Measures the time between two points of a stream. Not thread-safe; may be destroyed at any time.
class GpuTimer {
 public:
  virtual ~GpuTimer() = default;
  // Call each once, in this order, on one stream that is not capturing.
  virtual absl::Status Start(GpuStream* stream) = 0;
  virtual absl::Status Stop(GpuStream* stream) = 0;
  // nullopt until the stream has reached the end. Does not block.
  virtual absl::StatusOr<std::optional<absl::Duration>> Elapsed() = 0;
};

// One device. Thread-safe. Outlives its streams, events and graphs. Errors are those of core/gpu/gpu_error.h; after a
// sticky error every call returns it.
class GpuRuntime {
 public:
  virtual ~GpuRuntime() = default;
  virtual const GpuProperties& properties() const = 0;
  virtual absl::StatusOr<GpuMemoryInfo> MemoryInfo() = 0;

  // Slow, and freeing waits for all streams: GpuAllocator takes large regions and divides them.
  virtual absl::StatusOr<void*> AllocateDevice(size_t bytes) = 0;
  // Unified memory: pages migrate between device and host on use, so it may exceed the device's memory. Used like
  // device memory and freed by FreeDevice.
  virtual absl::StatusOr<void*> AllocateManaged(size_t bytes) = 0;
  virtual absl::Status FreeDevice(void* data) = 0;
  virtual absl::StatusOr<void*> AllocatePinned(size_t bytes) = 0;
  virtual absl::Status FreePinned(void* data) = 0;

  virtual absl::StatusOr<std::unique_ptr<GpuStream>> CreateStream(absl::string_view name) = 0;
  virtual absl::StatusOr<std::unique_ptr<GpuEvent>> CreateEvent() = 0;
  virtual absl::StatusOr<std::unique_ptr<GpuTimer>> CreateTimer() = 0;

  // Whether this device can write to the memory of `peer` with CopyToPeer. The first call enables peer access.
  virtual bool Reaches(const GpuRuntime& peer) = 0;

  // Reports to the simulated device's race checker that the host accesses pinned memory now. A no-op elsewhere.
  virtual void HostAccess(absl::string_view what, const GpuAccess& access) {}
};

}  // namespace weir
