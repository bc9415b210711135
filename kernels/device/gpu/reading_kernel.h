// Kernels that must see something on the host of what the device computed before they can go on.
#pragma once

#include <memory>
#include <vector>

#include "core/gpu/gpu_device.h"
#include "core/kernel/op_kernel.h"

namespace weir {

// Works in two phases: Begin enqueues what there is to know, Finish runs when a copy of that has arrived on the host.
// No thread waits in between; a step that is cancelled ends without Finish. Not captured: what Finish enqueues depends
// on values.
class ReadingGpuKernel : public AsyncOpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) final;
  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) final;
  bool IsExpensive() const override { return false; }

 protected:
  struct Begun {
    Tensor to_read;            // device memory; without elements: there is nothing to read, and Finish follows at once
    std::vector<Tensor> kept;  // what Finish needs of Begin
  };
  virtual absl::Status InitOnGpu(OpKernelConstruction& ctx) { return absl::OkStatus(); }
  virtual absl::StatusOr<Begun> Begin(OpKernelContext& ctx, GpuStream& stream) = 0;
  // `read` is host memory. Sets the outputs.
  virtual absl::Status Finish(OpKernelContext& ctx, GpuStream& stream, const Tensor& read,
                              const std::vector<Tensor>& kept) = 0;
  GpuDevice& gpu() const { return *device_; }

 private:
  absl::Status RunFinish(OpKernelContext& ctx, const Tensor& read, const std::vector<Tensor>& kept);

  GpuDevice* device_ = nullptr;
};

}  // namespace weir
