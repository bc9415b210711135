// Steps for reading a tensor that is broadcast to a given shape.
#pragma once

#include "absl/status/statusor.h"
#include "core/tensor/tensor_shape.h"

namespace weir {

// The steps, in elements, with which a dense tensor of `shape` is read along the dimensions of `target`.
// InvalidArgument where it cannot be broadcast to that.
absl::StatusOr<DimVector> BroadcastSteps(const TensorShape& shape, const TensorShape& target);
// The same where a value is assigned to a place of shape `target`: leading dimensions of one element too many do not
// matter.
absl::StatusOr<DimVector> AssignedSteps(const TensorShape& value, const TensorShape& target);

}  // namespace weir
