// /device:GPU:n: a GPU, or a part of one, as a task's device.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/device/device.h"
#include "core/device/physical_device.h"
#include "core/gpu/gpu_allocator.h"
#include "core/gpu/gpu_completion_queue.h"
#include "core/gpu/gpu_config.h"
#include "core/gpu/gpu_math_settings.h"
#include "core/gpu/gpu_runtime.h"
#include "core/mutex.h"
#include "core/tensor/tensor.h"

namespace weir {

// Statistics of the partitions that a device captures.
struct GpuGraphStats {
  std::atomic<int64_t> captures{0};
  std::atomic<int64_t> replays{0};
  std::atomic<int64_t> failures{0};  // captures that failed
  std::atomic<int64_t> dropped{0};   // graphs dropped for lack of memory, or because their variables moved
};

// Keeps captured graphs with their memory.
class GpuGraphCache {
 public:
  virtual ~GpuGraphCache() = default;
  // Releases all graphs that are not in use. Called on any thread that needs memory.
  virtual void DropGraphs() = 0;
};

// Tensors of its allocator are used on one stream, compute(), in the order in which kernels enqueue their work; the
// host does not wait for it. Copies use other streams, ordered with compute() by events.
class GpuDevice : public Device, public PhysicalDevice {
 public:
  struct Options {
    DeviceName task;
    int id = 0;  // n
    GpuDeviceConfig config;
    // For staging copies to and from the host.
    size_t pinned_limit = size_t{64} << 30;
    // How long an allocation waits for other threads to free memory before it fails.
    absl::Duration retry_for = absl::Seconds(10);
    GpuCompletionQueue::Options completions;
    GpuMathSettings math;
  };
  // Devices share a runtime if one GPU is divided. `work_queue` outlives the device. Errors are the runtime's.
  static absl::StatusOr<std::unique_ptr<GpuDevice>> Create(std::shared_ptr<GpuRuntime> runtime, WorkQueue* work_queue,
                                                           Options options);
  // Waits for the streams, at most as long as the completion queue's patience. No tensor of the device may be left.
  ~GpuDevice() override;

  Allocator* allocator() override;
  WorkQueue* work_queue() override { return work_queue_; }
  std::string physical_description() const override;
  int numa_node() const override;

  GpuRuntime& runtime();
  const GpuRuntime& runtime() const;
  GpuStream& compute();
  // The stream for kernels on this thread: compute(), or a capture's stream (core/gpu/gpu_capture.h).
  GpuStream& kernel_stream();
  GpuAllocator& memory();
  GpuGraphStats& graph_stats() { return graph_stats_; }
  // Until it is removed, `cache` is asked to drop its graphs when memory runs out.
  void AddGraphCache(GpuGraphCache* cache);
  void RemoveGraphCache(GpuGraphCache* cache);
  GpuCompletionQueue& completions() { return completions_; }
  const GpuMathSettings& math_settings() const { return options_.math; }
  // An additional stream while the caller holds it. Device memory may be used there (GpuAllocator::AddUse). A returned
  // stream is kept for the next caller with the same name. No caller may hold one longer than the device exists.
  absl::StatusOr<std::shared_ptr<GpuStream>> BorrowStream(const std::string& name);

  // Copies to device memory, for operations enqueued on compute() from now on. Returns when `host` may be overwritten.
  // InvalidArgument for object types. FAILED_PRECONDITION while compute() or this thread captures; the same holds for
  // ToHost.
  absl::StatusOr<Tensor> ToDevice(const Tensor& host);
  // Copies to pinned host memory, after everything enqueued on compute() so far. `done` runs once, on the completion
  // queue's thread, or inline if there is nothing to wait for. The result may outlive the device. The device tensor is
  // held until then, so that no kernel writes it in place.
  void ToHost(const Tensor& device, std::function<void(absl::StatusOr<Tensor>)> done);
  // Copies a tensor of `peer`, which FindPeer returned, to this device's memory, for operations enqueued on compute()
  // from now on. The copy sees `theirs` as left by everything enqueued on peer.compute() so far; `theirs` is held until
  // it has been read.
  absl::StatusOr<Tensor> FromPeer(const Tensor& theirs, GpuDevice& peer);
  // For in-place updates, on compute(), of memory that may be being copied.
  // - Later operations on compute() run after all copies of `value` to the host and to peers that have begun.
  // - No further copy begins until the lock is released, after the update is enqueued; copying threads block meanwhile.
  // - A thread may hold several locks.
  absl::StatusOr<std::unique_lock<std::recursive_mutex>> LockCopies(const Tensor& value);
  // Another GPU of the task that tensors can be copied from without the host; nullptr if `name` is none.
  GpuDevice* FindPeer(absl::string_view name) const;
  // For MakeGpuDevices: sets the GPUs of the task, which all live as long as any is used.
  void SetPeers(std::vector<GpuDevice*> peers) { peers_ = std::move(peers); }
  // Adds to `error`, from a kernel of this device, what holds the memory if it ran out, or what broke the device.
  absl::Status Explain(absl::Status error) const;

 private:
  // Streams and memory, also kept alive by host tensors that were copied from the device.
  struct Core;
  class PinnedBuffer;

  GpuDevice(std::shared_ptr<Core> core, WorkQueue* work_queue, Options options);
  absl::Status CheckNotCapturing() const;
  // Adds that this device is broken.
  absl::Status Located(const absl::Status& error) const;
  // Host-writable memory with as many bytes as `like`.
  absl::StatusOr<Tensor> AllocatePinned(const Tensor& like);
  // Makes later work on `after` wait for everything enqueued on `before`.
  absl::Status Order(GpuStream& before, GpuStream& after);
  absl::StatusOr<Tensor> StartToHost(const Tensor& device);

  const std::shared_ptr<Core> core_;
  WorkQueue* const work_queue_;
  const Options options_;
  std::vector<GpuDevice*> peers_;
  GpuGraphStats graph_stats_;
  Mutex caches_mu_;  // held while caches are called
  std::vector<GpuGraphCache*> caches_ GUARDED_BY(caches_mu_);
  GpuCompletionQueue completions_;
};

// The GPU that `device` is, or is a view of; nullptr for others.
GpuDevice* FindGpu(Device* device);
const GpuDevice* FindGpu(const Device* device);

}  // namespace weir
