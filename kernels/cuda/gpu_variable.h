// Variables whose values lie in a GPU's memory.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "core/gpu/gpu_op_kernel.h"
#include "core/variable.h"
#include "kernels/variables/variable_kernels.h"

namespace weir {

// A variable with a value, locked until destruction: work on it is enqueued in the order of the lock.
class LockedGpuVariable {
 public:
  // That whose handle is input `i`. FailedPrecondition where it has no value, InvalidArgument where that is not `type`.
  static absl::StatusOr<LockedGpuVariable> Lock(const OpKernelContext& ctx, int i, DataType type);
  // Those of the first `count` inputs, locked in the order of their addresses, as everybody locks several: two steps on
  // the same variables do not wait for each other for ever. InvalidArgument where two are the same.
  static absl::StatusOr<std::vector<LockedGpuVariable>> LockAll(const OpKernelContext& ctx, int count, DataType type);

  Tensor& value() { return *variable_->tensor(); }
  const Tensor& value() const { return *variable_->tensor(); }
  // What is enqueued on `stream` from here on may change the value in place: whoever has read it keeps a copy of what
  // it was. FAILED_PRECONDITION where that would move a value whose use is being captured.
  absl::Status PrepareToUpdate(OpKernelContext& ctx, GpuStream& stream);

 private:
  explicit LockedGpuVariable(std::shared_ptr<Variable> variable)
      : variable_(std::move(variable)), lock_(*variable_->mutex()) {}
  // That it can be used as input `i`, of `type`.
  absl::Status Check(int i, DataType type);

  std::shared_ptr<Variable> variable_;
  std::unique_lock<std::mutex> lock_;
};

const DataTypeVector& GpuVariableTypes();

}  // namespace weir
