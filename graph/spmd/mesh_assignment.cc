#include "graph/spmd/mesh_assignment.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "core/op/attr_value.h"
#include "graph/shapes/shape_refiner.h"
#include "tensorflow/core/framework/attr_value.pb.h"

namespace weir::spmd {
namespace {

constexpr int kUnknown = -2;
constexpr int kMaxChain = 64;  // of colocated nodes

class Assigner {
 public:
  explicit Assigner(const Graph& graph) : graph_(graph) {
    result_.mesh_of.resize(graph.num_node_ids(), kUnknown);
    result_.layouts.resize(graph.num_node_ids());
  }

  absl::StatusOr<MeshAssignment> Run() && {
    for (const Node* node : graph_.nodes()) {
      RETURN_IF_ERROR(Annotate(ReadAttributes(*node), absl::StrCat("Node '", node->name(), "'")));
    }
    const std::vector<Node*> order = TopologicalOrder(graph_);
    for (const Node* node : order) FollowDevice(*node);
    for (const Node* node : order) FollowInputs(*node);
    for (auto node = order.rbegin(); node != order.rend(); ++node) FollowReaders(**node);
    for (const Node* node : order) {
      if (Of(*node) == kUnknown) Of(*node) = 0;
    }
    for (const Node* node : order) InheritLayout(*node);
    return std::move(result_);
  }

 private:
  int& Of(const Node& node) { return result_.mesh_of[node.id()]; }

  absl::StatusOr<int> IndexOf(const Mesh& mesh) {
    const auto found = std::find(result_.meshes.begin(), result_.meshes.end(), mesh);
    if (found != result_.meshes.end()) return static_cast<int>(found - result_.meshes.begin());
    result_.meshes.push_back(mesh);
    return static_cast<int>(result_.meshes.size()) - 1;
  }

  absl::Status ReadAttributes(const Node& node) {
    if (const auto* mesh = FindAttr(node.def(), kMeshAttr); mesh != nullptr) {
      ASSIGN_OR_RETURN(const Mesh parsed, Mesh::Parse(mesh->s()));
      ASSIGN_OR_RETURN(Of(node), IndexOf(parsed));
    }
    const auto* attr = FindAttr(node.def(), kLayoutAttr);
    if (attr == nullptr) return absl::OkStatus();
    if (attr->list().s_size() > node.num_outputs()) {
      return errors::InvalidArgument("It has ", attr->list().s_size(), " layouts but ", node.num_outputs(), " outputs");
    }
    auto& layouts = result_.layouts[node.id()];
    layouts.resize(node.num_outputs());
    for (int i = 0; i < attr->list().s_size(); ++i) {
      if (attr->list().s(i).empty()) continue;
      ASSIGN_OR_RETURN(layouts[i], Layout::Parse(attr->list().s(i)));
      ASSIGN_OR_RETURN(const int mesh, IndexOf(layouts[i]->mesh));
      if (Of(node) != kUnknown && Of(node) != mesh) {
        return errors::InvalidArgument("Its attributes conflict: they name the meshes ",
                                       result_.meshes[Of(node)].AxesText(), " and ", layouts[i]->mesh.AxesText(),
                                       ", or the same axes over other devices");
      }
      Of(node) = mesh;
    }
    return absl::OkStatus();
  }

  // The node that the first colocation constraint names.
  const Node* Beside(const Node& node) const {
    const auto* attr = FindAttr(node.def(), "_class");
    if (attr == nullptr) return nullptr;
    for (const std::string& entry : attr->list().s()) {
      absl::string_view name = entry;
      if (absl::ConsumePrefix(&name, "loc:@")) return graph_.FindNode(name);
    }
    return nullptr;
  }

  void FollowDevice(const Node& node) {
    if (Of(node) == kUnknown && !node.requested_device().empty() && node.num_inputs() == 0) {
      Of(node) = MeshAssignment::kNone;
    }
  }

  void FollowInputs(const Node& node) {
    if (Of(node) != kUnknown) return;
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Edge* edge = node.input_edge(i);
      if (edge == nullptr || node.input_type(i) != DT_RESOURCE || Of(*edge->src) == kUnknown) continue;
      Of(node) = Of(*edge->src);
      return;
    }
    int steps = 0;
    for (const Node* beside = Beside(node); beside != nullptr && ++steps < kMaxChain; beside = Beside(*beside)) {
      if (Of(*beside) == kUnknown) continue;
      Of(node) = Of(*beside);
      return;
    }
    if (!node.requested_device().empty()) {
      Of(node) = MeshAssignment::kNone;
      return;
    }
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Edge* edge = node.input_edge(i);
      if (edge == nullptr || Of(*edge->src) < 0) continue;
      Of(node) = Of(*edge->src);
      return;
    }
  }

  void FollowReaders(const Node& node) {
    if (Of(node) != kUnknown) return;
    for (const Edge* edge : node.out_edges()) {
      if (Of(*edge->dst) < 0) continue;
      Of(node) = Of(*edge->dst);
      return;
    }
  }

  // An optimizer slot colocated with a variable of its shape.
  void InheritLayout(const Node& node) {
    if (node.op() != "VarHandleOp" || !result_.layouts[node.id()].empty()) return;
    const Node* variable = Beside(node);
    if (variable == nullptr || variable->op() != "VarHandleOp" || Of(node) != Of(*variable)) return;
    const auto *mine = FindAttr(node.def(), "shape"), *other = FindAttr(variable->def(), "shape");
    if (mine == nullptr || other == nullptr) return;
    if (mine->shape().SerializeAsString() == other->shape().SerializeAsString()) {
      result_.layouts[node.id()] = result_.layouts[variable->id()];
    }
  }

  const Graph& graph_;
  MeshAssignment result_;
};

}  // namespace

absl::StatusOr<MeshAssignment> AssignMeshes(const Graph& graph) { return Assigner(graph).Run(); }

}  // namespace weir::spmd
