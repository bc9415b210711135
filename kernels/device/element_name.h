// The name of a tensor's element in messages.
#pragma once

#include <string>

#include "core/tensor/tensor_shape.h"

namespace weir {

// "[1,0]" for the element at `flat` of a tensor of that shape, "" for a scalar.
std::string ElementName(const TensorShape& shape, int64_t flat);

}  // namespace weir
