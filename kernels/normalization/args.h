// Checks of batch normalisation's arguments with one value per channel, for the kernels of all devices.
#pragma once

#include "core/status.h"
#include "core/tensor/tensor.h"

namespace weir {

// InvalidArgument, which names it, unless `tensor` is a vector of as many elements.
absl::Status CheckChannelVector(const Tensor& tensor, absl::string_view name, int64_t channels);

}  // namespace weir
