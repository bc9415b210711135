// The op that stands for a part of a graph that a GPU captures.
#pragma once

namespace weir {

// Inputs of types Tin, outputs of types Tout. A worker puts it into its part of a graph; no client does.
inline constexpr char kGpuGraphOp[] = "_GpuGraph";

}  // namespace weir
