// What the ranks of simulated GPUs send each other, and what comes of it. For the simulated_*.cc files alone.
#pragma once

#include <string>
#include <vector>

#include "distribute/collective/gpu/gpu_collective_library.h"

namespace weir {

// Bytes that a rank of `size` gives to, and gets from, an operation.
size_t InputBytes(const GpuTransfer& transfer, int rank, int size);
size_t OutputBytes(const GpuTransfer& transfer, int rank, int size);

// A group with its inputs, as they are now.
std::string EncodeGroup(absl::Span<const GpuTransfer> group, int rank, int size);

// What each rank gets, its outputs one after the other, when the ranks have enqueued these groups. InvalidArgument,
// naming two ranks and what they enqueued, where they do not belong together, or a group is not one.
absl::StatusOr<std::vector<std::string>> RunGroups(const std::vector<std::string>& groups);

}  // namespace weir
