// Kernels that do I/O.
#pragma once

#include "core/kernel/op_kernel.h"
#include "core/memory/out_of_memory.h"

namespace weir {

// OK until the step is cancelled; for work in steps that may take long.
inline absl::Status CheckCancelled(const OpKernelContext& ctx) {
  return ctx.cancellation() == nullptr ? absl::OkStatus() : ctx.cancellation()->status();
}

// Marks asynchronous kernels that wait for files only, not for other nodes.
class WaitsForFiles {
 public:
  virtual ~WaitsForFiles() = default;
};

// Runs Work on a thread that may block.
class BlockingKernel : public AsyncOpKernel, public WaitsForFiles {
 public:
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) final {
    ctx.work_queue()->ScheduleBlocking([this, &ctx, done = std::move(done)] {
      absl::Status status = CheckCancelled(ctx);
      if (status.ok()) status = OrOutOfMemory([&] { return Work(ctx); });
      done(std::move(status));
    });
  }

 protected:
  virtual absl::Status Work(OpKernelContext& ctx) = 0;
};

}  // namespace weir
