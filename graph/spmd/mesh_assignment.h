// Assigns nodes to meshes, and collects requested layouts.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"
#include "graph/spmd/mesh.h"

namespace weir::spmd {

struct MeshAssignment {
  static constexpr int kNone = -1;  // the node runs once, on its requested device

  std::vector<Mesh> meshes;
  std::vector<int> mesh_of;                                 // by node id
  std::vector<std::vector<std::optional<Layout>>> layouts;  // by node id, then by output; may be empty
};

// The mesh of a node is, in order of precedence: that of its attributes; of the variable that it uses or is colocated
// with; none if it requests a device; that of its inputs; of its readers; the first one. A variable colocated with one
// of the same shape (an optimizer slot) inherits its layout, unless it has its own. InvalidArgument names the node
// whose attributes are wrong.
absl::StatusOr<MeshAssignment> AssignMeshes(const Graph& graph);

}  // namespace weir::spmd
