#include "kernels/array/moving/args_move.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_join.h"
#include "core/tensor/index_tensor.h"

namespace weir {

absl::StatusOr<DimVector> ReadPermutation(const Tensor& tensor, int rank) {
  if (tensor.dims() != 1) {
    return errors::InvalidArgument("perm must be rank 1, got shape ", tensor.shape().ToString());
  }
  ASSIGN_OR_RETURN(DimVector perm, ReadIntegers(tensor));
  if (static_cast<int>(perm.size()) != rank) {
    return errors::InvalidArgument("transpose expects a vector of size ", rank, ". But input(1) is a vector of size ",
                                   perm.size());
  }
  std::vector<bool> seen(rank);
  for (int64_t& d : perm) {
    if (d < -rank || d >= rank) return errors::InvalidArgument(d, " is out of range [0 .. ", rank, ")");
    if (d < 0) d += rank;
    seen[d] = true;
  }
  for (int i = 0; i < rank; ++i) {
    if (!seen[i]) return errors::InvalidArgument(i, " is missing from {", absl::StrJoin(perm, ","), "}.");
  }
  return perm;
}

absl::StatusOr<DimVector> ReadMultiples(const Tensor& multiples, const TensorShape& tiled) {
  if (multiples.dims() != 1) {
    return errors::InvalidArgument("Expected multiples to be 1-D, but got shape ", multiples.shape().ToString());
  }
  if (tiled.dims() != multiples.NumElements()) {
    return errors::InvalidArgument("Expected multiples argument to be a vector of length ", tiled.dims(),
                                   " but got length ", multiples.NumElements());
  }
  ASSIGN_OR_RETURN(const DimVector times, ReadIntegers(multiples));
  for (int i = 0; i < tiled.dims(); ++i) {
    if (times[i] < 0) return errors::InvalidArgument("Expected multiples[", i, "] >= 0, but got ", times[i]);
  }
  return times;
}

absl::StatusOr<DimVector> ReadShifts(const TensorShape& rolled, const Tensor& shift, const Tensor& axis) {
  if (rolled.dims() < 1) return errors::InvalidArgument("input must be 1-D or higher");
  if (shift.dims() > 1) {
    return errors::InvalidArgument("shift must be a scalar or a 1-D vector. Found: ", shift.shape().ToString());
  }
  if (axis.dims() > 1) {
    return errors::InvalidArgument("axis must be a scalar or a 1-D vector. Found: ", axis.shape().ToString());
  }
  if (shift.shape() != axis.shape()) return errors::InvalidArgument("shift and axis must have the same size");
  ASSIGN_OR_RETURN(const DimVector shifts, ReadIntegers(shift));
  ASSIGN_OR_RETURN(const DimVector axes, ReadIntegers(axis));
  const int rank = rolled.dims();
  DimVector by(rank, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < -rank || axes[i] >= rank) {
      return errors::InvalidArgument("axis ", axes[i], " is out of range");
    }
    const int64_t d = axes[i] < 0 ? axes[i] + rank : axes[i];
    const int64_t n = std::max<int64_t>(rolled.dim_size(static_cast<int>(d)), 1);
    by[d] = ((by[d] + shifts[i] % n) % n + n) % n;
  }
  return by;
}

absl::Status CheckSequences(const TensorShape& input, const TensorShape& lengths, int64_t seq_dim, int64_t batch_dim) {
  if (lengths.dims() != 1) return errors::InvalidArgument("seq_lengths must be 1-dim, not ", lengths.dims());
  if (seq_dim >= input.dims()) {
    return errors::InvalidArgument("seq_dim must be < input rank ( ", seq_dim, " vs. ", input.dims(), ")");
  }
  if (batch_dim >= input.dims()) {
    return errors::InvalidArgument("batch_dim must be < input rank ( ", batch_dim, " vs. ", input.dims(), ")");
  }
  if (seq_dim == batch_dim) return errors::InvalidArgument("batch_dim == seq_dim == ", seq_dim);
  if (seq_dim < 0 || batch_dim < 0) {
    return errors::InvalidArgument("seq_dim and batch_dim must not be negative, got ", seq_dim, " and ", batch_dim);
  }
  const int batch = static_cast<int>(batch_dim);
  if (lengths.num_elements() != input.dim_size(batch)) {
    return errors::InvalidArgument("Length of seq_lengths != input.dims(", batch, "), (", lengths.num_elements(),
                                   " vs. ", input.dim_size(batch), ")");
  }
  return absl::OkStatus();
}

}  // namespace weir
