// What kernels enqueue on a thread becomes a graph that can run again.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "core/gpu/gpu_device.h"
#include "core/gpu/gpu_memory_pool.h"
#include "core/variable.h"

namespace weir {

// From Begin to End, kernels of `device` that run on this thread enqueue into a capture, and what they allocate is
// memory of the pool. Other threads, and the device's own streams, go on as before: the capture has a stream of its
// own.
//
// A kernel must not change what the host knows of the device, for it will not run when the graph does: copies to and
// from the host are refused, and so are updates of variables that would give them other memory. So a capture that
// failed has changed nothing. Belongs to its thread, which has one at a time.
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
  // What was not ended is thrown away.
  ~GpuCapture();
  GpuCapture(const GpuCapture&) = delete;

  // The calling thread's; nullptr where it captures nothing.
  static GpuCapture* Current() { return current_; }

  const GpuDevice& device() const { return device_; }
  GpuStream& stream() { return *stream_; }
  // A kernel reads, or updates in place, what `variable`, which is locked, holds now. FAILED_PRECONDITION where its
  // memory has changed since the capture's first use of it.
  absl::Status Use(Variable& variable, bool updates);
  const std::vector<VariableUse>& variables() const { return variables_; }
  // For a kernel whose work needs `object` whenever it runs, such as a library's plan with its code: whoever has the
  // graph keeps what is kept() until it is gone.
  void Keep(std::shared_ptr<const void> object) { kept_.push_back(std::move(object)); }
  const std::vector<std::shared_ptr<const void>>& kept() const { return kept_; }
  // Called once.
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
