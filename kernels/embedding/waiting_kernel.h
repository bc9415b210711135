// Kernels of tables whose rows may be on disk.
#pragma once

#include <memory>
#include <utility>

#include "core/kernel/op_kernel.h"
#include "core/memory/out_of_memory.h"
#include "kernels/device/blocking_kernel.h"

namespace weir {

// Runs a kernel that waits for the disk on a thread that may block, also if its step is cancelled: updates that were
// committed are made.
template <typename Kernel>
class WaitingKernel : public AsyncOpKernel, public WaitsForFiles {
 public:
  template <typename... Args>
  explicit WaitingKernel(Args&&... args) : kernel_(std::forward<Args>(args)...) {}

  absl::Status Init(OpKernelConstruction& ctx) override { return kernel_.Init(ctx); }
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) override {
    ctx.work_queue()->ScheduleBlocking(
        [this, &ctx, done = std::move(done)] { done(OrOutOfMemory([&] { return kernel_.Compute(ctx); })); });
  }

 private:
  Kernel kernel_;
};

// The label of kernels for tables with a memory limit (attribute _kernel), where there is one without, too.
inline constexpr char kWaitingLabel[] = "waiting";

}  // namespace weir
