// The op that runs a captured part of a graph.
#pragma once

namespace weir {

// Inputs of types Tin, outputs of types Tout. Inserted by workers into their partitions, never by clients.
inline constexpr char kGpuGraphOp[] = "_GpuGraph";

}  // namespace weir
