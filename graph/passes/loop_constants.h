// Marks products with a matrix that is the same in all iterations of a loop.
#pragma once

#include "graph/graph.h"

namespace weir {

// Attribute of a MatMul or _FusedMatMul whose input 1 is probably the same tensor in all iterations: a constant of the
// loop (an Enter with is_constant), a variable that the loop reads each time, or either of them popped by the loop's
// gradient. The kernel may bring the tensor into its own order once a loop, if it checks that it is the same.
inline constexpr char kLoopConstantAttr[] = "_loop_constant_b";

// Sets the attribute where it holds. For a worker's part of a graph: others need not know it.
void MarkLoopConstants(Graph* graph);

}  // namespace weir
