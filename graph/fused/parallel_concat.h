// ParallelConcat, which TensorFlow's master rewrites as in-place updates of one tensor.
#pragma once

#include "core/status.h"
#include "graph/graph.h"

namespace weir {

// Merges a _ParallelConcatStart and the _ParallelConcatUpdates of its rows into one ParallelConcat. UNIMPLEMENTED,
// naming the node, if a row is missing or written twice, or an update has no _ParallelConcatStart in this graph.
absl::Status RestoreParallelConcats(Graph* graph);

}  // namespace weir
