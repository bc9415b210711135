// Datasets by what they yield.
#pragma once

#include "kernels/data/dataset.h"

namespace weir {

// The same for datasets that the same ops, attributes and constants make, in whatever program, process or release;
// names of nodes and functions do not count. FailedPrecondition for a dataset that no graph describes.
absl::StatusOr<uint64_t> FingerprintOf(const DatasetBase& dataset);

}  // namespace weir
