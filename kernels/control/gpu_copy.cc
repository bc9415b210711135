// Copies of tensors between GPU and host memory, and between GPUs.
#include <utility>

#include "core/gpu/cancellable_copy.h"
#include "core/gpu/copy_ops.h"
#include "core/gpu/gpu_op_kernel.h"
#include "core/gpu/variant_copies.h"
#include "kernels/control/family.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {
namespace {

class ToDeviceKernel : public GpuOpKernel {
 public:
  bool CanBeCaptured() const override { return false; }

 protected:
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream&) override {
    const Tensor& host = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor device, host.dtype() == DT_VARIANT ? VariantsToDevice(gpu(), host) : gpu().ToDevice(host));
    ctx.set_output(0, std::move(device));
    return absl::OkStatus();
  }
};

class FromPeerKernel : public GpuOpKernel {
 public:
  bool CanBeCaptured() const override { return false; }

 protected:
  absl::Status InitOnGpu(OpKernelConstruction& ctx) override {
    std::string name;
    RETURN_IF_ERROR(ctx.GetAttr(kPeerAttr, &name));
    peer_ = gpu().FindPeer(name);
    if (peer_ != nullptr) return absl::OkStatus();
    return errors::Internal("Node '", ctx.name(), "' copies from ", name, ", which ", gpu().name(), " does not reach");
  }
  absl::Status Enqueue(OpKernelContext& ctx, GpuStream&) override {
    ASSIGN_OR_RETURN(Tensor ours, gpu().FromPeer(ctx.input(0), *peer_));
    ctx.set_output(0, std::move(ours));
    return absl::OkStatus();
  }

 private:
  GpuDevice* peer_ = nullptr;
};

// Completes when the tensor has arrived or the step is cancelled. Device memory is held until the copy is over.
class ToHostKernel : public AsyncOpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    device_ = FindGpu(ctx.device());
    if (device_ != nullptr) return absl::OkStatus();
    return errors::Internal("Node '", ctx.name(), "' copies from a GPU, but is on ", ctx.device()->name());
  }

  void ComputeAsync(OpKernelContext& ctx, DoneCallback done) override {
    const GpuAllocationScope scope(ctx.node_def().name());
    CopyToHost(*device_, ctx.cancellation(), ctx.input(0), [&ctx, done = std::move(done)](absl::StatusOr<Tensor> host) {
      if (host.ok()) ctx.set_output(0, *std::move(host));
      done(host.status());
    });
  }
  bool IsExpensive() const override { return false; }

 private:
  GpuDevice* device_ = nullptr;
};

}  // namespace

absl::Status RegisterGpuCopyKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<ToDeviceKernel>(Kernel(kCopyToDevice).Device(kDeviceGpu).HostMemory("input")));
  RETURN_IF_ERROR(kernels.Register<FromPeerKernel>(Kernel(kCopyFromPeer).Device(kDeviceGpu)));
  return kernels.Register<ToHostKernel>(Kernel(kCopyToHost).Device(kDeviceGpu).HostMemory("output"));
}

}  // namespace weir
