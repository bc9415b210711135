// ZerosLike, AddN and AsString of variants. Tensor lists, tensor maps and optionals count as tensors, element by
// element, ragged tensors by value; a variant may also be a plain number. Their tensors lie in `memory`.
#pragma once

#include "core/kernel/op_kernel.h"
#include "core/tensor/tensor.h"
#include "kernels/containers/sequence_memory.h"

namespace weir {

// A list of as many zeros as `value` has elements; what is missing stays so. For a map an empty one. Internal for
// variants of another type.
absl::StatusOr<Variant> ZerosLikeVariant(const OpKernelContext& ctx, const SequenceMemory& memory,
                                         const Variant& value);

// The sums of two lists' or maps' elements. What one lacks counts as zeros.
absl::StatusOr<Variant> AddVariants(const OpKernelContext& ctx, const SequenceMemory& memory, const Variant& a,
                                    const Variant& b);

// What AsString makes of a variant: its type and value, as TensorFlow writes them.
std::string VariantText(const Variant& value);

}  // namespace weir
