// Ops that report a node's device or the label of its kernel.
#include "kernels/debug/family.h"
#include "kernels/device/wide.h"
#include "kernels/elementwise/cpu_elementwise.h"

namespace weir {
namespace {

class GuaranteeConstKernel : public OpKernel {
 public:
  absl::Status Init(OpKernelConstruction& ctx) override {
    if (ctx.input_types()[0] != DT_RESOURCE) return absl::OkStatus();
    return errors::InvalidArgument("Input tensor cannot be a resource variable handle.");
  }

  absl::Status Compute(OpKernelContext& ctx) override {
    ctx.set_output(0, ctx.input(0));
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }
};

class DevicePlacementKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ctx.set_output(0, Tensor::Scalar<tstring>(ctx.device()->name()));
    return absl::OkStatus();
  }
};

// KernelLabel returns the label by which its kernel was chosen.
template <int kLabel>
class KernelLabelKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    static constexpr const char* kNames[] = {"default", "overload_1", "overload_2"};
    ctx.set_output(0, Tensor::Scalar<tstring>(std::string("My label is: ") + kNames[kLabel]));
    return absl::OkStatus();
  }
};

// A deprecated op: newer graphs that use it are rejected at import.
class OldKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override { return absl::OkStatus(); }
};

}  // namespace

absl::Status RegisterRuntimeInfoKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<GuaranteeConstKernel>(Kernel("GuaranteeConst").Cpu()));
  RETURN_IF_ERROR(kernels.Register<DevicePlacementKernel>(Kernel("DevicePlacementOp").Cpu()));
  RETURN_IF_ERROR(kernels.Register<OldKernel>(Kernel("Old").Cpu()));
  RETURN_IF_ERROR(kernels.Register<KernelLabelKernel<0>>(Kernel("KernelLabel").Cpu()));
  RETURN_IF_ERROR(kernels.Register<KernelLabelKernel<1>>(Kernel("KernelLabel").Cpu().Label("overload_1")));
  return kernels.Register<KernelLabelKernel<2>>(Kernel("KernelLabel").Cpu().Label("overload_2"));
}

}  // namespace weir
