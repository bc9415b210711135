// Creates the kernel of a node.
#pragma once

#include <memory>

#include "core/kernel/kernel_registry.h"
#include "core/op/op_registry.h"
#include "graph/graph.h"

namespace weir {

// A node whose op is a library function gets the kernel of PartitionedCall.
absl::StatusOr<std::shared_ptr<OpKernel>> CreateNodeKernel(const KernelRegistry& kernels, const OpRegistry& ops,
                                                           const Node& node, Device* device,
                                                           FunctionRuntime* functions);

}  // namespace weir
