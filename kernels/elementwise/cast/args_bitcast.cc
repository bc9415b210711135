#include "kernels/elementwise/cast/args_bitcast.h"

#include "core/status.h"
#include "core/tensor/types.h"

namespace weir {

absl::StatusOr<TensorShape> BitcastShape(const Tensor& input, DataType to) {
  const int64_t from_size = DataTypeSize(input.dtype()), to_size = DataTypeSize(to);
  TensorShape shape = input.shape();
  if (to_size > from_size) {
    if (shape.dims() == 0 || shape.dim_size(shape.dims() - 1) != to_size / from_size) {
      // Types by their numbers, as TensorFlow's message has them.
      return errors::InvalidArgument("Cannot bitcast from ", static_cast<int>(input.dtype()), " to ",
                                     static_cast<int>(to), ": shape ", shape.ToString());
    }
    shape.RemoveDim(shape.dims() - 1);
  } else if (to_size < from_size) {
    RETURN_IF_ERROR(shape.AddDim(from_size / to_size));
  }
  return shape;
}

}  // namespace weir
