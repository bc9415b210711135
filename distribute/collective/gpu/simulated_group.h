// Encodes and computes the groups of simulated GPUs. For the simulated_*.cc files only.
#pragma once

#include <string>
#include <vector>

#include "distribute/collective/gpu/gpu_collective_library.h"

namespace weir {

// Bytes of a rank's input to, and output from, an operation in a group of `size`.
size_t InputBytes(const GpuTransfer& transfer, int rank, int size);
size_t OutputBytes(const GpuTransfer& transfer, int rank, int size);

// A group with the current contents of its inputs.
std::string EncodeGroup(absl::Span<const GpuTransfer> group, int rank, int size);

// Computes each rank's concatenated outputs. InvalidArgument, which names two ranks and what they enqueued, if the
// groups do not match or are malformed.
absl::StatusOr<std::vector<std::string>> RunGroups(const std::vector<std::string>& groups);

}  // namespace weir
