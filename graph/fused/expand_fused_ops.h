// Graphs as TensorFlow's optimizer leaves them.
#pragma once

#include "core/status.h"
#include "graph/graph.h"

namespace weir {

// A master of TensorFlow optimises a graph before it sends it to workers: it puts one op in the place of several, such
// as _FusedMatMul with fused_ops = [BiasAdd, GeluExact]. This undoes that, but for what has kernels. UNIMPLEMENTED,
// naming the node, for forms that TensorFlow makes for quantised models or GPUs only; InvalidArgument for nodes that
// contradict themselves. The graph is then no longer of use.
absl::Status ExpandFusedOps(Graph* graph);

}  // namespace weir
