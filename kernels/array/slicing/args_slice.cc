#include "kernels/array/slicing/args_slice.h"

#include "core/tensor/index_tensor.h"

namespace weir {

absl::StatusOr<SliceBounds> SliceBounds::Of(const TensorShape& input, const Tensor& begin, const Tensor& size) {
  const int rank = input.dims();
  for (const Tensor* argument : {&begin, &size}) {
    if (argument->dims() != 1 || argument->NumElements() != rank) {
      return errors::InvalidArgument("Expected begin and size arguments to be 1-D tensors of size ", rank,
                                     ", but got shapes ", begin.shape().ToString(), " and ", size.shape().ToString(),
                                     " instead.");
    }
  }
  SliceBounds bounds;
  ASSIGN_OR_RETURN(bounds.begin, ReadIntegers(begin));
  ASSIGN_OR_RETURN(bounds.size, ReadIntegers(size));
  for (int i = 0; i < rank; ++i) {
    const int64_t n = input.dim_size(i), from = bounds.begin[i];
    if (from < 0 || from > n) {
      return errors::InvalidArgument("Expected begin[", i, "] in [0, ", n, "], but got ", from);
    }
    if (bounds.size[i] == -1) bounds.size[i] = n - from;
    if (bounds.size[i] < 0 || bounds.size[i] > n - from) {
      return errors::InvalidArgument("Expected size[", i, "] in [0, ", n - from, "], but got ", bounds.size[i]);
    }
  }
  return bounds;
}

}  // namespace weir
