// Training on a mesh of devices: converts a single-device graph, with layouts for some tensors, to one for the mesh.
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
#include "core/api.h"
#include "graph/spmd/mesh.h"

namespace WEIR_API weir {

// The CPU devices 0, 1, … of one task ("/job:localhost/task:0" for a local session), or one CPU device per task.
absl::StatusOr<Mesh> TaskMesh(std::vector<Mesh::Axis> axes, const std::string& task);
absl::StatusOr<Mesh> ClusterMesh(std::vector<Mesh::Axis> axes, const std::string& job);

// Sets the layout of a tensor, or of the variable of a handle: for each dimension an axis of the mesh, or
// Mesh::kUnsharded. Layouts of other tensors follow. Replaces an earlier layout. INVALID_ARGUMENT names the tensor.
absl::Status SetLayout(const Output& tensor, const Mesh& mesh, std::vector<std::string> specs);
// The layout that was set; nullopt if there is none.
absl::StatusOr<std::optional<Layout>> GetLayout(const Output& tensor);
// The mesh of the node's pipeline stage; `mesh` if it is in none.
absl::StatusOr<Mesh> MeshOfStage(const Output& tensor, const Mesh& mesh);
// Splits dimension 0 of each over `axis`.
absl::Status SplitBatch(const Mesh& mesh, const std::string& axis, const std::vector<Output>& tensors);

struct MeshProgramOptions {
  // Outputs to fetch, besides those of nodes without consumers.
  std::vector<Output> fetches;
  // Outputs to feed, besides placeholders.
  std::vector<Output> feeds;
};

// Returns a new graph in which each device of the mesh computes its part of `scope`'s graph, with collectives in
// between.
// - Its sessions accept Outputs and Operations of `scope`, by name: placeholders, feeds, fetches, and nodes without
//   consumers, such as training steps, initializers of all variables, and ops of a Saver or TrainingLoop. Build
//   everything first.
// - Variables are saved and restored whole, so that checkpoints work with any mesh.
// - Shapes of split tensors must be static; errors name the node.
absl::StatusOr<Scope> BuildMeshProgram(const Scope& scope, const MeshProgramOptions& options);

}  // namespace weir
