// The row splits of ragged tensors: row r has the elements [splits[r], splits[r + 1]).
#pragma once

#include <vector>

#include "core/kernel/op_kernel.h"
#include "core/tensor/tensor.h"

namespace weir {

// The splits as int64. InvalidArgument unless they are a vector of at least one number that starts at 0 and never
// decreases.
absl::StatusOr<DimVector> ReadRowSplits(const Tensor& splits);

// The splits in inputs [first, first + count), outermost first, of a ragged tensor with these values: each as above,
// and its end is the number of rows of the next, or of the values.
absl::StatusOr<std::vector<DimVector>> ReadNestedSplits(const OpKernelContext& ctx, int first, int count,
                                                        const Tensor& values);

// Sets output i to splits of type int32 or int64. InvalidArgument where they do not fit.
absl::Status SetSplitsOutput(OpKernelContext& ctx, int i, absl::Span<const int64_t> splits);

}  // namespace weir
