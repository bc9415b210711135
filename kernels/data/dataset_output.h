// The output of a kernel that has to wait before it can make its dataset.
#pragma once

#include <memory>

#include "kernels/data/dataset_kernel.h"

namespace weir {

// Makes a dataset the node's output, with the node as its origin. ResourceExhausted for a chain that is too deep.
absl::Status SetDatasetOutput(const NodeInputs& inputs, std::shared_ptr<DatasetBase> dataset);

}  // namespace weir
