#include "kernels/normalization/gpu/norm_problem.h"

#include "absl/strings/str_cat.h"

namespace weir {

NormProblem NormProblem::Of(NormDirection direction, DataType dtype, bool channels_first, const TensorShape& x) {
  NormProblem problem{.direction = direction, .dtype = dtype, .channels_first = channels_first};
  const int first = channels_first ? 2 : 1, last = channels_first ? x.dims() - 1 : x.dims() - 2;
  problem.batch = x.dim_size(0);
  problem.channels = x.dim_size(channels_first ? 1 : x.dims() - 1);
  problem.columns = x.dim_size(last);
  problem.rows = 1;
  for (int i = first; i < last; ++i) problem.rows *= x.dim_size(i);
  return problem;
}

std::string NormProblem::ToString() const {
  return absl::StrCat(direction == NormDirection::kForward ? "batch_norm " : "batch_norm_gradient ",
                      DataTypeName(dtype), channels_first ? " nchw " : " nhwc ", batch, "x", rows, "x", columns, "x",
                      channels, has_side ? " side" : "", has_relu ? " relu" : "");
}

}  // namespace weir
