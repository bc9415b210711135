#include "kernels/linalg/matmul/args.h"

#include "core/status.h"

namespace weir {
namespace {

// Of the two innermost dimensions.
absl::StatusOr<MatMulSizes> Innermost(const TensorShape& a, const TensorShape& b, bool transpose_a, bool transpose_b) {
  const int a_rank = a.dims(), b_rank = b.dims();
  MatMulSizes sizes;
  sizes.m = a.dim_size(transpose_a ? a_rank - 1 : a_rank - 2);
  sizes.k = a.dim_size(transpose_a ? a_rank - 2 : a_rank - 1);
  sizes.n = b.dim_size(transpose_b ? b_rank - 2 : b_rank - 1);
  if (b.dim_size(transpose_b ? b_rank - 1 : b_rank - 2) == sizes.k) return sizes;
  return errors::InvalidArgument("Matrix size-incompatible: In[0]: ", a.ToString(), ", In[1]: ", b.ToString());
}

absl::Status DifferentRanks(const TensorShape& a, const TensorShape& b) {
  return errors::InvalidArgument("In[0] and In[1] has different ndims: ", a.ToString(), " vs. ", b.ToString());
}

}  // namespace

absl::StatusOr<MatMulSizes> MatMulSizes::Of(const TensorShape& a, const TensorShape& b, bool transpose_a,
                                            bool transpose_b) {
  // TensorFlow's words depend on the type and the library; clients may look for either.
  if (a.dims() != 2 || b.dims() != 2) {
    const absl::Status ranks = a.dims() == b.dims()
                                   ? errors::InvalidArgument("In[0] and In[1] ndims must be == 2: ", a.dims())
                                   : DifferentRanks(a, b);
    return errors::InvalidArgument(ranks.message(), " (In[", a.dims() != 2 ? 0 : 1, "] ndims must be >= 2)");
  }
  return Innermost(a, b, transpose_a, transpose_b);
}

absl::StatusOr<BatchMatMulSizes> BatchMatMulSizes::Of(const TensorShape& x, const TensorShape& y, bool transpose_x,
                                                      bool transpose_y, bool broadcasts) {
  if (!broadcasts && x.dims() != y.dims()) return DifferentRanks(x, y);
  if (!broadcasts && x.dims() < 2) {
    return errors::InvalidArgument("In[0] and In[1] ndims must be >= 2: ", x.dims());
  }
  if (x.dims() < 2 || y.dims() < 2) {
    return errors::InvalidArgument("In[", x.dims() < 2 ? 0 : 1,
                                   "] ndims must be >= 2: ", x.dims() < 2 ? x.dims() : y.dims());
  }
  const TensorShape x_batch(x.dim_sizes().first(x.dims() - 2)), y_batch(y.dim_sizes().first(y.dims() - 2));
  for (int d = 0; !broadcasts && d < x_batch.dims(); ++d) {
    if (x_batch.dim_size(d) == y_batch.dim_size(d)) continue;
    return errors::InvalidArgument("In[0].dim(", d, ") and In[1].dim(", d, ") must be the same: ", x.ToString(), " vs ",
                                   y.ToString());
  }
  BatchMatMulSizes sizes;
  absl::StatusOr<Broadcasting> batches = Broadcasting::Of(x_batch, y_batch);
  if (!batches.ok()) {
    return errors::InvalidArgument("In[0] and In[1] must have compatible batch dimensions: ", x.ToString(), " vs. ",
                                   y.ToString());
  }
  ASSIGN_OR_RETURN(sizes.product, Innermost(x, y, transpose_x, transpose_y));
  sizes.batches = *std::move(batches);
  sizes.output = sizes.batches.shape;
  RETURN_IF_ERROR(sizes.output.AddDim(sizes.product.m));
  RETURN_IF_ERROR(sizes.output.AddDim(sizes.product.n));
  return sizes;
}

}  // namespace weir
