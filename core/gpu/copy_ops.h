// The ops by which tensors of a graph go to a GPU's memory and come back.
#pragma once

namespace weir {

// Each has one input and one output, of type T. A worker puts them into its part of a graph; no client does.
inline constexpr char kCopyToDevice[] = "_CopyToDevice";
inline constexpr char kCopyToHost[] = "_CopyToHost";

}  // namespace weir
