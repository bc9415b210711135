#include "kernels/array/joining/args_split.h"

#include "core/tensor/index_tensor.h"

namespace weir {
namespace {

absl::StatusOr<int> ReadSplitAxis(const Tensor& tensor, int rank) {
  ASSIGN_OR_RETURN(const DimVector axes, ReadIntegers(tensor));
  const int64_t axis = axes[0];
  if (axis < -rank || axis >= rank) {
    return errors::InvalidArgument("-input rank(-", rank, ") <= split_dim < input rank (", rank, "), but got ", axis);
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace

absl::StatusOr<SplitSizes> SplitSizes::Equal(const TensorShape& input, const Tensor& axis, int pieces) {
  SplitSizes sizes;
  if (axis.dims() != 0) return errors::InvalidArgument("split_dim must be a scalar but has rank ", axis.dims());
  ASSIGN_OR_RETURN(sizes.axis, ReadSplitAxis(axis, input.dims()));
  const int64_t length = input.dim_size(sizes.axis);
  if (length % pieces != 0) {
    return errors::InvalidArgument(
        "Number of ways to split should evenly divide the split dimension, but got split_dim ", sizes.axis,
        " (size = ", length, ") and num_split ", pieces);
  }
  sizes.lengths = DimVector(pieces, length / pieces);
  return sizes;
}

absl::StatusOr<SplitSizes> SplitSizes::Of(const TensorShape& input, const Tensor& lengths, const Tensor& axis,
                                          int pieces) {
  SplitSizes sizes;
  if (axis.NumElements() != 1) {
    return errors::InvalidArgument("split_dim_tensor must have exactly one element.");
  }
  ASSIGN_OR_RETURN(sizes.axis, ReadSplitAxis(axis, input.dims()));
  if (lengths.dims() != 1 || lengths.NumElements() != pieces) {
    return errors::InvalidArgument("size of the split_tensor must be 1-D and have the same elements as outputs got ",
                                   lengths.dims(), " -D and ", lengths.NumElements(), " elements");
  }
  ASSIGN_OR_RETURN(sizes.lengths, ReadIntegers(lengths));
  const int64_t whole = input.dim_size(sizes.axis);
  int open = -1;
  int64_t given = 0;
  for (int i = 0; i < pieces; ++i) {
    const int64_t length = sizes.lengths[i];
    if (length == -1) {
      if (open >= 0) return errors::InvalidArgument("There can only be one -1 in the input.");
      open = i;
    } else if (__builtin_add_overflow(given, length, &given)) {
      return errors::InvalidArgument("Split sizes overflow");
    }
  }
  if (pieces == 1 && open < 0 && given != whole) {
    return errors::InvalidArgument("If there is only one output, it must have the same size as the input. Input size: ",
                                   whole, " output size: ", given);
  }
  if (open >= 0 ? given > whole : given != whole) {
    return errors::InvalidArgument(
        "Determined shape must either match input shape along split_dim exactly if fully "
        "specified, or be less than the size of the input along split_dim if not fully "
        "specified.  Got: ",
        given);
  }
  if (open >= 0) sizes.lengths[open] = whole - given;
  for (int i = 0; i < pieces; ++i) {
    if (sizes.lengths[i] >= 0) continue;
    return errors::InvalidArgument("Split size at index ", i, " must be >= 0. Got: ", sizes.lengths[i]);
  }
  return sizes;
}

absl::StatusOr<int> StackedAxis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    return errors::InvalidArgument("axis = ", axis, " not in [", -rank, ", ", rank, ")");
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace weir
