// ParallelConcat, which TensorFlow's master writes as updates of one tensor in place.
#pragma once

#include "core/status.h"
#include "graph/graph.h"

namespace weir {

// A _ParallelConcatStart and the _ParallelConcatUpdates of its rows become one ParallelConcat. UNIMPLEMENTED, naming
// the node, where a row is missing, written twice, or the updates are not of a _ParallelConcatStart of this graph.
absl::Status RestoreParallelConcats(Graph* graph);

}  // namespace weir
