// Snapshots of resource variables in host memory, for checkpoints that are written while steps go on.
#include "core/threads/low_priority.h"
#include "kernels/device/blocking_kernel.h"
#include "kernels/state/family.h"
#include "kernels/state/snapshot_value.h"
#include "kernels/state/variable_access.h"

namespace weir {
namespace {

class SnapshotVariableKernel : public OpKernel {
 public:
  absl::Status Compute(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const std::shared_ptr<Variable> variable, LookupVariable(ctx, 0));
    std::shared_ptr<VariableSnapshot> snapshot;
    {
      const std::lock_guard<std::mutex> lock(*variable->mutex());
      if (!variable->is_initialized()) {
        return errors::FailedPrecondition("The variable ", ctx.input(0).scalar<ResourceHandle>().name,
                                          " has no value to take a snapshot of");
      }
      if (!IsPlainType(variable->tensor()->dtype())) {
        return errors::Unimplemented("A snapshot of a variable of type ", DataTypeName(variable->tensor()->dtype()));
      }
      snapshot = TakeSnapshot(variable, ctx.allocator());
    }
    ctx.set_output(0, Tensor::Scalar(Variant(std::make_shared<SnapshotValue>(std::move(snapshot)))));
    return absl::OkStatus();
  }
  bool IsExpensive() const override { return false; }
};

class ReserveVariableSnapshotKernel : public BlockingKernel {
 protected:
  absl::Status Work(OpKernelContext& ctx) override {
    ASSIGN_OR_RETURN(const std::shared_ptr<Variable> variable, LookupVariable(ctx, 0));
    return RunAtLowPriority([&] { return ReserveForSnapshot(*variable, ctx.allocator()); });
  }
};

}  // namespace

absl::Status RegisterVariableSnapshotKernels(KernelRegistry& kernels) {
  RETURN_IF_ERROR(kernels.Register<SnapshotVariableKernel>(Kernel("SnapshotVariable").Cpu()));
  return kernels.Register<ReserveVariableSnapshotKernel>(Kernel("ReserveVariableSnapshot").Cpu());
}

}  // namespace weir
