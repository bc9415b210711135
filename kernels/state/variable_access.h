// Gives kernels access to reference-typed and resource variables, and makes them safe to overwrite.
#pragma once

#include <memory>
#include <mutex>
#include <shared_mutex>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "core/kernel/op_kernel.h"
#include "core/kernel/variable.h"
#include "core/tensor/resource_handle.h"
#include "kernels/state/reference_variables.h"
#include "kernels/state/variable_kernels.h"

namespace weir {

// The object behind VariableV2: another type than that behind VarHandleOp, so that both may have the same name.
class RefVariable : public Variable {
 public:
  using Variable::Variable;
};

// A variable that a kernel reads or updates. `tensor` is guarded by `mutex`.
struct VariableRef {
  Tensor* tensor = nullptr;
  std::mutex* mutex = nullptr;
  std::shared_ptr<Variable> resource;  // nullptr for a reference input

  bool IsInitialized() const { return resource != nullptr ? resource->is_initialized() : tensor->IsInitialized(); }
};

// The resource variable that input i names; NotFound when there is none.
absl::StatusOr<std::shared_ptr<Variable>> LookupVariable(const OpKernelContext& ctx, int i);
// The variable behind input i, of either kind.
absl::StatusOr<VariableRef> FindVariable(const OpKernelContext& ctx, int i);
// A reference to the value of the variable behind input i, taken under its lock. FailedPrecondition when it has none.
absl::StatusOr<Tensor> ReadVariable(const OpKernelContext& ctx, int i);

// A value that updates wait for, rather than clone it, until this is gone: for who reads some of it at once.
struct BriefRead {
  std::shared_ptr<Variable> variable;
  std::shared_lock<std::shared_mutex> lock;
  Tensor value;
};
// The same of the resource variable that input i names.
absl::StatusOr<BriefRead> ReadVariableBriefly(const OpKernelContext& ctx, int i);

// A variable whose value can be taken a snapshot of, locked until destruction.
struct VariableToSnapshot {
  std::shared_ptr<Variable> variable;
  std::unique_lock<std::mutex> lock;
};
// The resource variable that input i names, on any device. FailedPrecondition without a value, Unimplemented for
// elements that are not plain.
absl::StatusOr<VariableToSnapshot> LockToSnapshot(const OpKernelContext& ctx, int i);

// Makes `tensor`'s buffer writable in place by its only user: holders of a reference to it keep the old contents.
absl::Status EnsureExclusive(Tensor& tensor, Allocator* allocator);

// Makes the variable's buffer writable in place by the holder of its lock. EnsureExclusive, unless readers see updates.
absl::Status PrepareToUpdate(const VariableRef& variable, Allocator* allocator);

// The same, for an update of some elements: see the variants for resource variables in core/kernel/variable.h.
absl::Status PrepareToUpdateRanges(const VariableRef& variable, Allocator* allocator, int64_t count, int64_t bytes,
                                   absl::FunctionRef<int64_t(int64_t)> offset);
// The same, for an update of every element. Returns the old value, to compute the new one from. A reference is updated
// in place.
absl::StatusOr<Tensor> PrepareToOverwrite(const VariableRef& variable, Allocator* allocator);

// The variables behind the first inputs of an update, locked together in the order of their addresses until
// destruction. Every one has a value of type `dtype`.
class LockedVariables {
 public:
  static absl::StatusOr<LockedVariables> Lock(const OpKernelContext& ctx, int count, DataType dtype);

  int size() const { return static_cast<int>(variables_.size()); }
  Tensor& operator[](int i) { return *variables_[i].tensor; }
  // As above, for each.
  absl::Status PrepareToUpdateRanges(Allocator* allocator, int64_t count, int64_t bytes,
                                     absl::FunctionRef<int64_t(int64_t)> offset);
  // As above, for each; the old values in the same order.
  absl::StatusOr<absl::InlinedVector<Tensor, 4>> PrepareToOverwrite(Allocator* allocator);

 private:
  absl::InlinedVector<VariableRef, 4> variables_;
  absl::InlinedVector<std::unique_lock<std::mutex>, 4> locks_;
};

}  // namespace weir
