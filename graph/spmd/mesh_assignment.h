// Which mesh each node of a graph belongs to, and the layouts that were asked for.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"
#include "graph/spmd/mesh.h"

namespace weir::spmd {

struct MeshAssignment {
  static constexpr int kNone = -1;  // the node runs once, where it was asked to

  std::vector<Mesh> meshes;
  std::vector<int> mesh_of;                                 // by node id
  std::vector<std::vector<std::optional<Layout>>> layouts;  // by node id, then by output; may be empty
};

// A node's mesh is that of its attributes; else that of the variable that it works on or lies beside; else none, where
// it asks for a device; else that of its inputs, then of its readers, then the first. A variable beside one of the same
// shape (the slot of an optimizer) has its layout, unless it has its own. InvalidArgument names the node whose
// attributes are wrong.
absl::StatusOr<MeshAssignment> AssignMeshes(const Graph& graph);

}  // namespace weir::spmd
