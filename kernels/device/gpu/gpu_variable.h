// Variables whose values lie in a GPU's memory.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "core/gpu/gpu_op_kernel.h"
#include "core/kernel/variable.h"
#include "kernels/state/reference_variables.h"
#include "kernels/state/variable_kernels.h"

namespace weir {

// A variable with a value, locked until destruction: work on it is enqueued in the order of the lock.
class LockedGpuVariable {
 public:
  // That to which input `i` is a reference, or whose handle it is. FailedPrecondition where it has no value,
  // InvalidArgument where that is not `type`.
  static absl::StatusOr<LockedGpuVariable> Lock(const OpKernelContext& ctx, int i, DataType type);
  // Those of the first `count` inputs, locked in the order of their locks' addresses, as everybody locks several: two
  // steps on the same variables do not wait for each other for ever. InvalidArgument where two are the same.
  static absl::StatusOr<std::vector<LockedGpuVariable>> LockAll(const OpKernelContext& ctx, int count, DataType type);

  Tensor& value() { return *place_.value; }
  const Tensor& value() const { return *place_.value; }
  // What is enqueued on `stream` from here on may change the value in place: whoever has read it keeps a copy of what
  // it was, unless it is a reference's and readers see its updates. FAILED_PRECONDITION where that would move a value
  // whose use is being captured.
  absl::Status PrepareToUpdate(OpKernelContext& ctx, GpuStream& stream);

 private:
  struct Place {
    Tensor* value = nullptr;
    std::mutex* mutex = nullptr;
    std::shared_ptr<Variable> resource;  // nullptr: a reference's
  };

  static absl::StatusOr<Place> Find(const OpKernelContext& ctx, int i);
  explicit LockedGpuVariable(Place place) : place_(std::move(place)), lock_(*place_.mutex) {}
  bool HasValue() const;
  // That it can be used as input `i`, of `type`.
  absl::Status Check(int i, DataType type);

  Place place_;
  std::unique_lock<std::mutex> lock_;
  std::unique_lock<std::recursive_mutex> copies_;  // held where others look at what is to change
};

const DataTypeVector& GpuVariableTypes();

}  // namespace weir
