// Converts numeric literals to the type that an op needs.
#pragma once

#include "core/status.h"
#include "core/tensor/tensor.h"

namespace weir {

// `value` (a plain number type or bool) as `type`. InvalidArgument if the value would change: 2.5 to an integer, 300 to
// int8, a string to a number. Rounding between floating types is allowed.
absl::StatusOr<Tensor> ConvertLiteral(const Tensor& value, DataType type);

}  // namespace weir
