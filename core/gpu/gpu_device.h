// /device:GPU:n: one GPU, or a part of one, as a device of a task.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/device.h"
#include "core/gpu/gpu_allocator.h"
#include "core/gpu/gpu_completion_queue.h"
#include "core/gpu/gpu_config.h"
#include "core/gpu/gpu_math_settings.h"
#include "core/gpu/gpu_runtime.h"
#include "core/mutex.h"
#include "core/physical_device.h"
#include "core/tensor.h"

namespace weir {

// What became of the parts of steps that a device is to capture.
struct GpuGraphStats {
  std::atomic<int64_t> captures{0};
  std::atomic<int64_t> replays{0};
  std::atomic<int64_t> failures{0};  // captures that came to nothing
  std::atomic<int64_t> dropped{0};   // graphs for want of room, or whose variables have moved
};

// Keeps captured graphs, each with its memory.
class GpuGraphCache {
 public:
  virtual ~GpuGraphCache() = default;
  // Lets go of all that are not in use. Called on any thread that wants memory.
  virtual void DropGraphs() = 0;
};

// Tensors of its allocator are used on one stream, compute(), in the order in which kernels enqueue their work; the
// host does not wait for it. Copies have streams of their own, ordered with compute() by events.
class GpuDevice : public Device, public PhysicalDevice {
 public:
  struct Options {
    DeviceName task;
    int id = 0;  // n
    GpuDeviceConfig config;
    // For memory by which tensors come and go.
    size_t pinned_limit = size_t{64} << 30;
    // How long an allocation waits for memory that other threads free, before it is refused.
    absl::Duration retry_for = absl::Seconds(10);
    GpuCompletionQueue::Options completions;
    GpuMathSettings math;
  };
  // Several devices share a runtime where one GPU is divided. `work_queue` outlives the device. Errors are the
  // runtime's.
  static absl::StatusOr<std::unique_ptr<GpuDevice>> Create(std::shared_ptr<GpuRuntime> runtime, WorkQueue* work_queue,
                                                           Options options);
  // Waits for the streams, as long as completions' patience at most. No tensor of it is left.
  ~GpuDevice() override;

  Allocator* allocator() override;
  WorkQueue* work_queue() override { return work_queue_; }
  std::string physical_description() const override;
  int numa_node() const override;

  GpuRuntime& runtime();
  const GpuRuntime& runtime() const;
  GpuStream& compute();
  // Where a kernel that runs on this thread enqueues: compute(), or a capture's stream (core/gpu/gpu_capture.h).
  GpuStream& kernel_stream();
  GpuAllocator& memory();
  GpuGraphStats& graph_stats() { return graph_stats_; }
  // From then on, until it is removed, `cache` is asked to drop its graphs where memory runs out.
  void AddGraphCache(GpuGraphCache* cache);
  void RemoveGraphCache(GpuGraphCache* cache);
  GpuCompletionQueue& completions() { return completions_; }
  const GpuMathSettings& math_settings() const { return options_.math; }
  // A further stream, for as long as the caller keeps it. Memory of the device may be used there
  // (GpuAllocator::AddUse): a stream that is given back stays, for the next who asks for one of that name. Nobody keeps
  // one longer than the device.
  absl::StatusOr<std::shared_ptr<GpuStream>> BorrowStream(const std::string& name);

  // The same elements in device memory, for whatever is enqueued on compute() from now on. Returns when `host` may be
  // overwritten. InvalidArgument for types that are objects. FAILED_PRECONDITION while compute() or this thread
  // captures, as ToHost.
  absl::StatusOr<Tensor> ToDevice(const Tensor& host);
  // The same elements in pinned host memory, when all that is enqueued on compute() now has been done. `done` runs
  // once, on the completion queue's thread, or at once where there is nothing to wait for. The tensor may outlive the
  // device. Until then the device tensor is held, so that no kernel writes it in place.
  void ToHost(const Tensor& device, std::function<void(absl::StatusOr<Tensor>)> done);
  // A copy in this device's memory of a tensor of `peer`, which FindPeer gave, for whatever is enqueued on compute()
  // from now on. `theirs` is what peer.compute() makes of it by what is enqueued there now; it is held until it has
  // been read.
  absl::StatusOr<Tensor> FromPeer(const Tensor& theirs, GpuDevice& peer);
  // For who writes in place, on compute(), what others may look at: what follows there comes after all copies of
  // `value` to the host and to peers that have begun, and none begins before the lock is gone, which is when the
  // writing is enqueued. A thread may hold several. Whoever copies waits meanwhile.
  absl::StatusOr<std::unique_lock<std::recursive_mutex>> LockCopies(const Tensor& value);
  // Another GPU of the task by whose name tensors may come without the host; nullptr for others.
  GpuDevice* FindPeer(absl::string_view name) const;
  // For MakeGpuDevices: the GPUs of the task, which all live as long as any is used.
  void SetPeers(std::vector<GpuDevice*> peers) { peers_ = std::move(peers); }
  // Makes `error`, from a kernel of this device, tell what holds the memory if it is want of that, or what broke which
  // device.
  absl::Status Explain(absl::Status error) const;

 private:
  // Streams and memory: kept also by host tensors that came from the device.
  struct Core;
  class PinnedBuffer;

  GpuDevice(std::shared_ptr<Core> core, WorkQueue* work_queue, Options options);
  absl::Status CheckNotCapturing() const;
  // That it is this device that is broken.
  absl::Status Located(const absl::Status& error) const;
  // Memory that the host may write, of as many bytes as `like` has.
  absl::StatusOr<Tensor> AllocatePinned(const Tensor& like);
  // What follows on `after` waits for what is enqueued on `before`.
  absl::Status Order(GpuStream& before, GpuStream& after);
  absl::StatusOr<Tensor> StartToHost(const Tensor& device);

  const std::shared_ptr<Core> core_;
  WorkQueue* const work_queue_;
  const Options options_;
  std::vector<GpuDevice*> peers_;
  GpuGraphStats graph_stats_;
  Mutex caches_mu_;  // held while caches are asked
  std::vector<GpuGraphCache*> caches_ GUARDED_BY(caches_mu_);
  GpuCompletionQueue completions_;
};

// The GPU that `device` is, or is a view of; nullptr for others.
GpuDevice* FindGpu(Device* device);
const GpuDevice* FindGpu(const Device* device);

}  // namespace weir
