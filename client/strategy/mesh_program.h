// Training on a mesh of devices: a graph of one device, layouts for some of its tensors, and the graph that runs.
//
//   const Scope scope = Scope::NewRoot();
//   … the model, its gradients, its optimizer, as for one device …
//   ASSIGN_OR_RETURN(const Mesh mesh, TaskMesh({{"data", 2}, {"model", 2}}, "/job:worker/task:0"));
//   RETURN_IF_ERROR(SplitBatch(mesh, "data", {tokens, labels}));
//   RETURN_IF_ERROR(SplitColumns(mesh, "model", up));
//   RETURN_IF_ERROR(SplitRows(mesh, "model", down));
//   ASSIGN_OR_RETURN(const Scope program, BuildMeshProgram(scope, {.fetches = {loss}}));
//   ASSIGN_OR_RETURN(auto session, Session::Connect(target, program));
//   session->Run({{tokens, …}, {labels, …}}, {loss}, {train});
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/scope.h"
#include "graph/spmd/mesh.h"

namespace weir {

// The CPU devices 0, 1, … of one task ("/job:localhost/task:0" for a local session), or one CPU device of each task.
absl::StatusOr<Mesh> TaskMesh(std::vector<Mesh::Axis> axes, const std::string& task);
absl::StatusOr<Mesh> ClusterMesh(std::vector<Mesh::Axis> axes, const std::string& job);

// Says how a tensor, or what a variable's handle stands for, is to lie on the mesh: for each dimension an axis of the
// mesh, or Mesh::kUnsharded. Nothing else of the graph needs a layout: the others follow. A later one takes the place
// of an earlier one. INVALID_ARGUMENT names the tensor.
absl::Status SetLayout(const Output& tensor, const Mesh& mesh, std::vector<std::string> specs);
// The layout that was set; nullopt: none.
absl::StatusOr<std::optional<Layout>> GetLayout(const Output& tensor);
// The mesh of the pipeline stage that a node belongs to; `mesh` where there is none.
absl::StatusOr<Mesh> MeshOfStage(const Output& tensor, const Mesh& mesh);
// Dimension 0 of each over `axis`, nothing else.
absl::Status SplitBatch(const Mesh& mesh, const std::string& axis, const std::vector<Output>& tensors);

struct MeshProgramOptions {
  // Outputs to be fetched, besides those of nodes that nobody reads.
  std::vector<Output> fetches;
  // Outputs to be fed, besides placeholders.
  std::vector<Output> feeds;
};

// A new graph, in which each device of the mesh computes its part of what `scope` holds, with collectives between them.
// Sessions of it know by their names in `scope`: placeholders, feeds, fetches, and whatever nobody reads, such as
// training steps, initializers of all variables, and what a Saver or TrainingLoop added: they take its Outputs and
// Operations. Build everything first. Variables are saved and restored whole, so that checkpoints fit any mesh. Shapes
// must be static where something is split; errors name the node.
absl::StatusOr<Scope> BuildMeshProgram(const Scope& scope, const MeshProgramOptions& options);

}  // namespace weir
