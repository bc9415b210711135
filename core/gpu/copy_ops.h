// The ops that copy tensors between host memory and a GPU.
#pragma once

namespace weir {

// One input and one output, of type T. Inserted by workers into their partitions, never by clients.
inline constexpr char kCopyToDevice[] = "_CopyToDevice";
inline constexpr char kCopyToHost[] = "_CopyToHost";
// From the memory of another GPU of the task, named by its attribute.
inline constexpr char kCopyFromPeer[] = "_CopyFromPeer";
inline constexpr char kPeerAttr[] = "peer";

}  // namespace weir
