// Where the tensors of a graph on a GPU lie.
#pragma once

#include "core/kernel_registry.h"
#include "core/status.h"
#include "worker/plan.h"

namespace weir {

class Graph;

// Prepares `graph`, all of it on `device`, for a device with memory of its own: where a tensor of one memory meets an
// input of the other a copy is put between them, one for all who want it, and constants lie where they are read (in
// both, where readers want both). `options` then places constants. Arguments and results are host memory. Does nothing
// on a CPU.
absl::Status PrepareMemory(const KernelRegistry& kernels, Device* device, Graph* graph, Plan::Options* options);

}  // namespace weir
