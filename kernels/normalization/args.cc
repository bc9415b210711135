#include "kernels/normalization/args.h"

namespace weir {

absl::Status CheckChannelVector(const Tensor& tensor, absl::string_view name, int64_t channels) {
  if (!tensor.shape().IsVector()) {
    return errors::InvalidArgument(name, " must be 1-dimensional", tensor.shape().ToString());
  }
  if (tensor.dim_size(0) == channels) return absl::OkStatus();
  return errors::InvalidArgument(name, " must have the same number of elements as the channels of x, got ",
                                 tensor.dim_size(0), " and ", channels);
}

}  // namespace weir
