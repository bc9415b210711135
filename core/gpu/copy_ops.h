// The ops by which tensors of a graph go to a GPU's memory and come back.
#pragma once

namespace weir {

// Each has one input and one output, of type T. A worker puts them into its part of a graph; no client does.
inline constexpr char kCopyToDevice[] = "_CopyToDevice";
inline constexpr char kCopyToHost[] = "_CopyToHost";
// From the memory of another GPU of the task, which its attribute names.
inline constexpr char kCopyFromPeer[] = "_CopyFromPeer";
inline constexpr char kPeerAttr[] = "peer";

}  // namespace weir
