#include "kernels/device/broadcast_steps.h"

#include "core/status.h"
#include "kernels/device/dense_steps.h"

namespace weir {

absl::StatusOr<DimVector> BroadcastSteps(const TensorShape& shape, const TensorShape& target) {
  const int lead = target.dims() - shape.dims();
  if (lead < 0) {
    return errors::InvalidArgument("Rank of input (", shape.dims(), ") must be no greater than rank of output shape (",
                                   target.dims(), ").");
  }
  DimVector steps(target.dims(), 0);
  const DimVector dense = DenseSteps(shape.dim_sizes());
  for (int i = 0; i < shape.dims(); ++i) {
    if (shape.dim_size(i) != 1 && shape.dim_size(i) != target.dim_size(lead + i)) {
      return errors::InvalidArgument("Incompatible shapes: ", shape.ToString(), " vs. ", target.ToString());
    }
    steps[lead + i] = shape.dim_size(i) == 1 ? 0 : dense[i];
  }
  return steps;
}

absl::StatusOr<DimVector> AssignedSteps(const TensorShape& value, const TensorShape& target) {
  int first = 0;
  while (value.dims() - first > target.dims() && value.dim_size(first) == 1) ++first;
  absl::StatusOr<DimVector> steps = BroadcastSteps(TensorShape(value.dim_sizes().subspan(first)), target);
  if (steps.ok()) return steps;
  return errors::InvalidArgument("Cannot broadcast input shape ", value.ToString(), " into final shape ",
                                 target.ToString());
}

}  // namespace weir
