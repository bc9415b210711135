#include "kernels/device/gpu/reading_kernel.h"

#include <atomic>

#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {

absl::Status ReadingGpuKernel::Init(OpKernelConstruction& ctx) {
  device_ = FindGpu(ctx.device());
  if (device_ == nullptr) {
    return errors::Internal("Node '", ctx.name(), "' (", ctx.op(), ") has a kernel for GPUs, but is on ",
                            ctx.device()->name());
  }
  return InitOnGpu(ctx);
}

absl::Status ReadingGpuKernel::RunFinish(OpKernelContext& ctx, const Tensor& read, const std::vector<Tensor>& kept) {
  const GpuAllocationScope scope(ctx.node_def().name());
  return device_->Explain(Finish(ctx, device_->compute(), read, kept));
}

void ReadingGpuKernel::ComputeAsync(OpKernelContext& ctx, DoneCallback done) {
  struct Reading {
    std::atomic<bool> is_over{false};
    DoneCallback done;
    std::vector<Tensor> kept;
  };
  const GpuAllocationScope scope(ctx.node_def().name());
  absl::StatusOr<Begun> begun = Begin(ctx, device_->compute());
  if (!begun.ok()) return done(device_->Explain(begun.status()));
  if (begun->to_read.NumElements() == 0) return done(RunFinish(ctx, begun->to_read, begun->kept));
  auto reading = std::make_shared<Reading>();
  reading->done = std::move(done);
  reading->kept = std::move(begun->kept);
  CancellationManager* const cancellation = ctx.cancellation();
  CancellationManager::Token token = CancellationManager::kInvalidToken;
  if (cancellation != nullptr) {
    token = cancellation->Register([reading, cancellation] {
      if (!reading->is_over.exchange(true)) reading->done(cancellation->status());
    });
    if (token == CancellationManager::kInvalidToken) return reading->done(cancellation->status());
  }
  device_->ToHost(begun->to_read, [this, reading, cancellation, token, &ctx](absl::StatusOr<Tensor> host) {
    if (reading->is_over.exchange(true)) return;  // and with it the step and this kernel may be gone
    if (cancellation != nullptr) cancellation->TryDeregister(token);
    if (!host.ok()) return reading->done(device_->Explain(host.status()));
    // Finish allocates, which may wait for what this thread, the completion queue's, must report.
    device_->work_queue()->Schedule([this, reading, &ctx, host = *std::move(host)] {
      const absl::Status status = RunFinish(ctx, host, reading->kept);
      reading->kept.clear();
      reading->done(status);
    });
  });
}

}  // namespace weir
