// Kernels of resource variables that hand tensors on as they are, in whichever memory they lie.
#pragma once

#include <memory>

#include "core/kernel/op_kernel.h"

namespace weir {

// The handle that input i holds; InvalidArgument unless it is a resource scalar.
absl::StatusOr<const ResourceHandle*> HandleFromInput(const OpKernelContext& ctx, int i);

// ReadVariableOp and AssignVariableOp. An assignment gives the variable the value's memory.
std::unique_ptr<OpKernel> NewReadVariable();
std::unique_ptr<OpKernel> NewAssignVariable();

}  // namespace weir
