// Snapshots of resource variables in host memory, for checkpoints that are written while steps go on.
#include "kernels/device/blocking_kernel.h"
#include "kernels/state/family.h"
#include "kernels/state/snapshot_value.h"
#include "kernels/state/variable_access.h"

namespace weir {
namespace {

class SnapshotVariableKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const VariableToSnapshot locked, LockToSnapshot(ctx, 0));
    auto snapshot = std::make_shared<SnapshotValue>(TakeSnapshot(locked.variable, ctx.allocator()));
    ctx.set_output(0, Tensor::Scalar(Variant(std::move(snapshot))));
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }
};

class ReserveVariableSnapshotKernel : public BlockingKernel {
 protected:
  absl::Status Work(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const std::shared_ptr<Variable> variable, LookupVariable(ctx, 0));
    return ReserveForSnapshot(*variable, ctx.allocator());
  }
};

}  // namespace

absl::Status RegisterVariableSnapshotKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<SnapshotVariableKernel>(Kernel("SnapshotVariable").Cpu()));
  return kernels.Register<ReserveVariableSnapshotKernel>(Kernel("ReserveVariableSnapshot").Cpu());
}

}  // namespace weir
