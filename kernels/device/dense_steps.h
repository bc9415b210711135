// The distances between neighbouring elements of a dense array, by dimension.
#pragma once

#include "core/tensor/tensor_shape.h"

namespace weir {

// The steps of a dense row-major array of these sizes, in elements.
DimVector DenseSteps(absl::Span<const int64_t> sizes);

}  // namespace weir
