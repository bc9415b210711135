#include "kernels/array/moving/args_pad.h"

#include "core/tensor/index_tensor.h"

namespace weir {

absl::StatusOr<DimVector> ReadPaddings(const Tensor& paddings, const TensorShape& padded) {
  if (paddings.dims() != 2 || paddings.dim_size(1) != 2) {
    return errors::InvalidArgument("paddings must be a matrix with 2 columns: ", paddings.shape().ToString());
  }
  if (paddings.dim_size(0) != padded.dims()) {
    return errors::InvalidArgument("The first dimension of paddings must be the rank of inputs",
                                   paddings.shape().ToString(), " ", padded.ToString());
  }
  ASSIGN_OR_RETURN(DimVector values, ReadIntegers(paddings));
  for (size_t i = 0; i < values.size(); i += 2) {
    if (values[i] < 0 || values[i + 1] < 0) {
      return errors::InvalidArgument("Paddings must be non-negative: ", values[i], " ", values[i + 1]);
    }
  }
  return values;
}

absl::StatusOr<DimVector> ReadMirrorPaddings(const Tensor& paddings, const TensorShape& padded, bool symmetric) {
  ASSIGN_OR_RETURN(DimVector values, ReadPaddings(paddings, padded));
  for (int d = 0; d < padded.dims(); ++d) {
    const int64_t limit = padded.dim_size(d) - (symmetric ? 0 : 1);
    if (values[2 * d] > limit || values[2 * d + 1] > limit) {
      return errors::InvalidArgument("paddings must be ", symmetric ? "no greater" : "less",
                                     " than the dimension size: ", values[2 * d], ", ", values[2 * d + 1],
                                     symmetric ? " greater than " : " not less than ", padded.dim_size(d));
    }
  }
  return values;
}

absl::StatusOr<int64_t> MirroredSize(int64_t wide, int64_t before, int64_t after, bool symmetric) {
  // Of the middle, and what a frame can mirror.
  const int64_t n = before > wide || after > wide - before ? -1 : wide - before - after;
  if (n < 0) {
    return errors::InvalidArgument("Total paddings must be less than the input dimension size: ", before, " and ",
                                   after, " was not less than ", wide);
  }
  const int64_t limit = n - (symmetric ? 0 : 1);
  if (before > limit || after > limit) {
    return errors::InvalidArgument("paddings must be ", symmetric ? "no greater" : "less",
                                   " than the output dimension size: ", before, ", ", after,
                                   symmetric ? " greater than " : " not less than ", n);
  }
  return n;
}

absl::StatusOr<TensorShape> PaddedShape(const TensorShape& shape, const DimVector& paddings) {
  DimVector dims;
  for (int i = 0; i < shape.dims(); ++i) {
    int64_t size = shape.dim_size(i);
    if (__builtin_add_overflow(size, paddings[2 * i], &size) ||
        __builtin_add_overflow(size, paddings[2 * i + 1], &size)) {
      return errors::InvalidArgument("Dimension ", i, " of the padded tensor is too large");
    }
    dims.push_back(size);
  }
  return TensorShape::Build(dims);
}

}  // namespace weir
