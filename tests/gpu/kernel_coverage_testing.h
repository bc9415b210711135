// Finds the GPU kernels that a graph runs, by op and types.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/kernel/kernel_registry.h"
#include "graph/graph.h"

namespace weir {

// An op with types for all attributes that a registration constrains, as it is written here: "Cumsum of T=float", or
// the op alone where nothing is constrained.
using KernelTypes = std::string;

// Every combination for which `kernels` has a kernel of `ops` on GPUs.
std::set<KernelTypes> KernelsForGpus(const KernelRegistry& kernels, const OpRegistry& ops);
// Those that run where `fetched` are wanted: what these nodes depend on, and they themselves.
std::set<KernelTypes> KernelsThatRun(const KernelRegistry& kernels, const std::vector<const Node*>& fetched);

}  // namespace weir
