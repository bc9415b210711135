#include "core/gpu/gpu_capture.h"

namespace weir {

thread_local GpuCapture* GpuCapture::current_ = nullptr;

absl::StatusOr<std::unique_ptr<GpuCapture>> GpuCapture::Begin(GpuDevice& device, GpuMemoryPool& pool) {
  if (current_ != nullptr) return errors::FailedPrecondition("This thread captures a graph already");
  ASSIGN_OR_RETURN(std::shared_ptr<GpuStream> stream, device.BorrowStream("capture"));
  // The pool may allocate device memory during the capture, which the other modes forbid.
  RETURN_IF_ERROR(stream->BeginCapture(GpuCaptureMode::kRelaxed));
  return std::unique_ptr<GpuCapture>(new GpuCapture(device, pool, std::move(stream)));
}

GpuCapture::GpuCapture(GpuDevice& device, GpuMemoryPool& pool, std::shared_ptr<GpuStream> stream)
    : device_(device), stream_(std::move(stream)), scope_(&pool) {
  current_ = this;
}

GpuCapture::~GpuCapture() {
  current_ = nullptr;
  if (!ended_) stream_->EndCapture().status().IgnoreError();
}

absl::Status GpuCapture::Use(Variable& variable, bool updates) {
  const Tensor& value = *variable.tensor();
  for (VariableUse& use : variables_) {
    if (use.variable != &variable) continue;
    if (use.data != value.raw_data()) {
      return errors::FailedPrecondition("a variable's memory was replaced while its use was captured");
    }
    use.is_updated |= updates;
    return absl::OkStatus();
  }
  variables_.push_back({&variable, value.raw_data(), value.dtype(), value.shape(), updates});
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<GpuGraph>> GpuCapture::End() {
  ended_ = true;
  return stream_->EndCapture();
}

}  // namespace weir
