// Captures the kernels that a thread enqueues into a graph that can run repeatedly.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "core/gpu/gpu_device.h"
#include "core/gpu/gpu_memory_pool.h"
#include "core/kernel/variable.h"

namespace weir {

// From Begin to End, kernels of `device` that run on this thread enqueue into a capture, and allocate from the pool.
// - Other threads, and the device's own streams, are unaffected: the capture has its own stream.
// - A captured kernel must not change host-side state of the device, because it does not run when the graph does:
//   copies to and from the host, and variable updates that replace the variable's memory, fail.
// - A failed capture has therefore changed nothing.
// - Belongs to its thread, which has at most one at a time.
class GpuCapture {
 public:
  // A variable whose memory the graph reads or writes.
  struct VariableUse {
    const Variable* variable = nullptr;
    const void* data = nullptr;
    DataType dtype = DT_INVALID;
    TensorShape shape;
    bool is_updated = false;
  };

  // Both outlive it.
  static absl::StatusOr<std::unique_ptr<GpuCapture>> Begin(GpuDevice& device, GpuMemoryPool& pool);
  // Discards a capture that was not ended.
  ~GpuCapture();
  GpuCapture(const GpuCapture&) = delete;

  // The calling thread's capture; nullptr if there is none.
  static GpuCapture* Current() { return current_; }

  const GpuDevice& device() const { return device_; }
  GpuStream& stream() { return *stream_; }
  // Declares that a kernel reads, or updates in place, the current memory of `variable`, which is locked.
  // FAILED_PRECONDITION if its memory has changed since the capture's first use of it.
  absl::Status Use(Variable& variable, bool updates);
  const std::vector<VariableUse>& variables() const { return variables_; }
  // For a kernel that needs `object` whenever the graph runs, such as a library's plan with its code. The graph's owner
  // keeps kept() alive as long as the graph.
  void Keep(std::shared_ptr<const void> object) { kept_.push_back(std::move(object)); }
  const std::vector<std::shared_ptr<const void>>& kept() const { return kept_; }
  // Call once.
  absl::StatusOr<std::unique_ptr<GpuGraph>> End();

 private:
  GpuCapture(GpuDevice& device, GpuMemoryPool& pool, std::shared_ptr<GpuStream> stream);

  static thread_local GpuCapture* current_;
  GpuDevice& device_;
  const std::shared_ptr<GpuStream> stream_;
  const GpuPoolScope scope_;
  bool ended_ = false;
  std::vector<VariableUse> variables_;
  std::vector<std::shared_ptr<const void>> kept_;
};

}  // namespace weir
