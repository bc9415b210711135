// What kernels for GPUs are written against.
#pragma once

#include "core/gpu/gpu_device.h"
#include "core/op_kernel.h"

namespace weir {

// A kernel that enqueues its work on the device's compute stream, or on that of a capture, and returns. Inputs and
// outputs are device memory, but for arguments that the registration puts into host memory.
class GpuOpKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) final;
  absl::Status Compute(OpKernelContext& ctx) final;
  bool IsExpensive() const override { return false; }
  // Whether what it enqueues may be captured and run again without it: it depends on inputs' shapes and on host memory
  // alone, and goes through no memory but tensors'. Not so for what copies from the host.
  virtual bool CanBeCaptured() const { return true; }

 protected:
  // Reads and checks attributes.
  virtual absl::Status InitOnGpu(OpKernelConstruction& ctx) { return absl::OkStatus(); }
  // As Compute. What it allocates is named after the node; want of memory is explained to the caller.
  virtual absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) = 0;
  GpuDevice& gpu() const { return *device_; }

 private:
  GpuDevice* device_ = nullptr;
};

// The bytes of a tensor as what a kernel touches.
inline GpuAccess ReadOf(const Tensor& tensor) {
  return GpuAccess::Read(tensor.raw_data(), static_cast<size_t>(tensor.TotalBytes()));
}
inline GpuAccess WriteOf(const Tensor& tensor) {
  return GpuAccess::Write(tensor.raw_data(), static_cast<size_t>(tensor.TotalBytes()));
}

}  // namespace weir
