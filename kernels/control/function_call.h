// Calls of library functions by kernels.
#pragma once

#include <vector>

#include "core/kernel/function_runtime.h"
#include "core/kernel/op_kernel.h"

namespace weir::function_call {

using Tensors = std::vector<Tensor>;

absl::StatusOr<FunctionRuntime::Handle> Instantiate(OpKernelConstruction& ctx,
                                                    const tensorflow::NameAttrList& function);
// The function that an attribute names.
absl::StatusOr<FunctionRuntime::Handle> InstantiateAttr(OpKernelConstruction& ctx, absl::string_view attr);
// Options for a call one level deeper than the calling step.
FunctionRuntime::RunOptions OptionsFor(const OpKernelContext& ctx);
// The kernel's inputs from `first` on.
Tensors Inputs(const OpKernelContext& ctx, int first);
// Internal if their number or types are not the node's.
absl::Status SetOutputs(OpKernelContext& ctx, Tensors values);
// Sets the kernel's outputs to the returned tensors.
void Call(OpKernelContext& ctx, FunctionRuntime::Handle handle, Tensors args, AsyncOpKernel::DoneCallback done);
// TensorFlow's truth value: a scalar is true unless zero or empty; other tensors are true if they have elements.
absl::StatusOr<bool> Truth(const Tensor& tensor);

}  // namespace weir::function_call
