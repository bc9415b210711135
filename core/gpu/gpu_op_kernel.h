// Base class of GPU kernels.
#pragma once

#include "core/gpu/gpu_device.h"
#include "core/kernel/op_kernel.h"

namespace weir {

// A kernel that enqueues its work on the device's compute stream, or on a capture's stream, and returns. Inputs and
// outputs are in device memory, except arguments registered as host memory.
class GpuOpKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) final;
  absl::Status Compute(OpKernelContext& ctx) final;
  bool IsExpensive() const override { return false; }
  // Whether its work may be captured and replayed without calling it: it depends only on input shapes and host memory,
  // and uses no memory but its tensors'. False for kernels that copy from the host.
  virtual bool CanBeCaptured() const { return true; }

 protected:
  // Reads and checks attributes.
  virtual absl::Status InitOnGpu(OpKernelConstruction& ctx) { return absl::OkStatus(); }
  // Like Compute. Its allocations are named after the node, and out-of-memory errors are explained to the caller.
  virtual absl::Status Enqueue(OpKernelContext& ctx, GpuStream& stream) = 0;
  GpuDevice& gpu() const { return *device_; }

 private:
  GpuDevice* device_ = nullptr;
};

// Declares a kernel's read of a tensor's bytes.
inline GpuAccess ReadOf(const Tensor& tensor) {
  return GpuAccess::Read(tensor.raw_data(), static_cast<size_t>(tensor.TotalBytes()));
}
inline GpuAccess WriteOf(const Tensor& tensor) {
  return GpuAccess::Write(tensor.raw_data(), static_cast<size_t>(tensor.TotalBytes()));
}

}  // namespace weir
