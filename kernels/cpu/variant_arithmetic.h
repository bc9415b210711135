// What ZerosLike and AddN make of variants: tensor lists, tensor maps and optionals count as tensors, element by
// element, ragged tensors by value.
#pragma once

#include <functional>

#include "core/op_kernel.h"
#include "core/tensor.h"

namespace weir {

// A list of as many zeros as `value` has elements; what is missing stays so. For a map an empty one. Internal for
// variants of another type.
absl::StatusOr<Variant> ZerosLikeVariant(const OpKernelContext& ctx, const Variant& value);

// The sum of two tensors of one dtype and shape.
using AddTensors = std::function<absl::StatusOr<Tensor>(const Tensor& a, const Tensor& b)>;

// The sums of two lists' or maps' elements. What one lacks counts as zeros.
absl::StatusOr<Variant> AddVariants(const Variant& a, const Variant& b, const AddTensors& add);

}  // namespace weir
