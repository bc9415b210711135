// Tensor values as text, for messages that people read.
#pragma once

#include <string>

#include "core/tensor/tensor.h"

namespace weir {

// At most `entries` elements (all where negative): "3", "1 2 3...", "[1 2][3 4]".
std::string Summarize(const Tensor& tensor, int64_t entries);

}  // namespace weir
