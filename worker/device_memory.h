// Places the tensors of a GPU's graph in memory.
#pragma once

#include "core/kernel/kernel_registry.h"
#include "core/status.h"
#include "worker/executor/plan.h"

namespace weir {

class Graph;

// Prepares `graph`, all of it on `device`, for a device with its own memory. Does nothing for a CPU.
// - Where an input needs the other memory, inserts one copy for all such readers.
// - Constants are stored in the memory of their readers (in both if needed); `options` then places them.
// - Arguments and results are in host memory.
absl::Status PrepareMemory(const KernelRegistry& kernels, Device* device, Graph* graph, Plan::Options* options);

}  // namespace weir
