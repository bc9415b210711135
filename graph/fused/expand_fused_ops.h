// Expands the fused ops that TensorFlow's graph optimizer creates.
#pragma once

#include "core/status.h"
#include "graph/graph.h"

namespace weir {

// TensorFlow's master optimises a graph before it sends it to workers, replacing several ops by one, such as
// _FusedMatMul with fused_ops = [BiasAdd, GeluExact]. This reverses that, except where there is a kernel.
// UNIMPLEMENTED, naming the node, for forms that TensorFlow creates only for quantised models or GPUs; InvalidArgument
// for inconsistent nodes. After an error the graph is unusable.
absl::Status ExpandFusedOps(Graph* graph);

}  // namespace weir
