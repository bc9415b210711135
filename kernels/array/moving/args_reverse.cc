#include "kernels/array/moving/args_reverse.h"

#include "core/tensor/index_tensor.h"

namespace weir {

absl::StatusOr<std::vector<bool>> ReadReversedAxes(const Tensor& axes, const TensorShape& shape) {
  const int rank = shape.dims();
  std::vector<bool> reversed(rank);
  if (axes.dtype() == DT_BOOL) {
    if (axes.dims() != 1) return errors::InvalidArgument("'dims' must be 1-dimension, not ", axes.dims());
    if (axes.dim_size(0) != rank) {
      return errors::InvalidArgument(
          "'dims' must have the same number of values as 'input' has dimensions. 'input' "
          "has ",
          rank, "'dims' has ", axes.dim_size(0), " values");
    }
    for (int i = 0; i < rank; ++i) reversed[i] = axes.data<bool>()[i];
    return reversed;
  }
  if (axes.dims() != 1) return errors::InvalidArgument("'axis' must be 1-dimension, not ", axes.dims());
  ASSIGN_OR_RETURN(const DimVector values, ReadIntegers(axes));
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] < -rank || values[i] >= rank) {
      return errors::InvalidArgument("'axis'[", i, "] = ", values[i], " is out of valid range [", 0, ", ", rank - 1);
    }
    const int64_t axis = values[i] < 0 ? values[i] + rank : values[i];
    if (reversed[axis]) return errors::InvalidArgument("axis ", axis, " specified more than once.");
    reversed[axis] = true;
  }
  return reversed;
}

}  // namespace weir
