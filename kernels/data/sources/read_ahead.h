// Reading a dataset ahead of its consumer.
#pragma once

#include <string>

#include "kernels/data/dataset.h"

namespace weir {

// The elements of `input`, up to `capacity` of which are made in the background. `type` is what messages call it.
std::shared_ptr<DatasetBase> NewReadAheadDataset(std::string type, const DatasetPtr& input, int64_t capacity);

}  // namespace weir
