#include "kernels/cuda/normalization/norm_problem.h"

#include "absl/strings/str_cat.h"

namespace weir {

std::string NormProblem::ToString() const {
  return absl::StrCat(direction == NormDirection::kForward ? "batch_norm " : "batch_norm_gradient ",
                      DataTypeName(dtype), channels_first ? " nchw " : " nhwc ", batch, "x", rows, "x", columns, "x",
                      channels, has_side ? " side" : "", has_relu ? " relu" : "");
}

}  // namespace weir
