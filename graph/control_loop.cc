#include "graph/control_loop.h"

#include "core/op/attr_value.h"

namespace weir {
namespace {

// Builds the control loops of one graph: a dummy value → Enter → Merge → Switch(LoopCond) → NextIteration → Merge.
class Builder {
 public:
  Builder(Graph* graph, ControlFlowInfo* info, absl::flat_hash_map<std::pair<int, std::string>, Node*>* merges)
      : graph_(graph), info_(info), merges_(merges) {}

  absl::StatusOr<Node*> MergeOf(int frame, const std::string& device) {
    if (auto it = merges_->find({frame, device}); it != merges_->end()) return it->second;
    const LoopFrame loop = info_->frames[frame];
    if (loop.loop_cond == nullptr) {
      return errors::InvalidArgument("Loop frame '", loop.name, "' spans devices but has no LoopCond node");
    }
    ASSIGN_OR_RETURN(Node * seed, Seed(loop.parent, device));
    ASSIGN_OR_RETURN(Node * enter, AddEnter(loop, frame, device));
    ASSIGN_OR_RETURN(Node * merge, AddNode("Merge", "merge", frame, device));
    // A separate LoopCond, so that this location's part can be partitioned again by device.
    ASSIGN_OR_RETURN(Node * cond, AddLoopCond(frame, device));
    ASSIGN_OR_RETURN(Node * branch, AddNode("Switch", "switch", frame, device));
    ASSIGN_OR_RETURN(Node * next, AddNode("NextIteration", "next", frame, device));
    RETURN_IF_ERROR(graph_->AddEdge(seed, 0, enter, 0).status());
    RETURN_IF_ERROR(graph_->AddEdge(enter, 0, merge, 0).status());
    RETURN_IF_ERROR(graph_->AddEdge(merge, 0, branch, 0).status());
    RETURN_IF_ERROR(graph_->AddEdge(loop.loop_cond, 0, cond, 0).status());
    RETURN_IF_ERROR(graph_->AddEdge(cond, 0, branch, 1).status());
    RETURN_IF_ERROR(graph_->AddEdge(branch, 1, next, 0).status());
    RETURN_IF_ERROR(graph_->AddEdge(next, 0, merge, 1).status());
    merges_->insert({{frame, device}, merge});
    return merge;
  }

 private:
  // The initial value of a loop: a constant for an outermost loop; for a nested one the token of the enclosing loop, so
  // that it is entered once in each of that loop's iterations.
  absl::StatusOr<Node*> Seed(int parent, const std::string& device) {
    if (parent != 0) return MergeOf(parent, device);
    tensorflow::NodeDef def = Def("Const", "seed", device);
    SetNodeAttr("dtype", DT_INT32, &def);
    SetNodeAttr("value", Tensor::Scalar<int32_t>(0), &def);
    return Add(std::move(def), /*frame=*/0);
  }

  absl::StatusOr<Node*> AddEnter(const LoopFrame& loop, int frame, const std::string& device) {
    tensorflow::NodeDef def = Def("Enter", "enter", device);
    SetNodeAttr("T", DT_INT32, &def);
    SetNodeAttr("frame_name", loop.name, &def);
    SetNodeAttr("parallel_iterations", loop.parallel_iterations, &def);
    return Add(std::move(def), frame);
  }

  absl::StatusOr<Node*> AddLoopCond(int frame, const std::string& device) {
    return Add(Def("LoopCond", "cond", device), frame);
  }

  absl::StatusOr<Node*> AddNode(absl::string_view op, absl::string_view role, int frame, const std::string& device) {
    tensorflow::NodeDef def = Def(op, role, device);
    SetNodeAttr("T", DT_INT32, &def);
    if (op == "Merge") SetNodeAttr("N", int64_t{2}, &def);
    return Add(std::move(def), frame);
  }

  tensorflow::NodeDef Def(absl::string_view op, absl::string_view role, const std::string& device) const {
    tensorflow::NodeDef def;
    def.set_name(graph_->UniqueName(absl::StrCat("_control_loop/", role)));
    def.set_op(std::string(op));
    def.set_device(device);
    return def;
  }

  absl::StatusOr<Node*> Add(tensorflow::NodeDef def, int frame) {
    const std::string device = def.device();
    ASSIGN_OR_RETURN(Node * node, graph_->AddNode(std::move(def)));
    node->set_assigned_device(device);
    info_->frame_of.resize(graph_->num_node_ids(), 0);
    info_->frame_of[node->id()] = frame;
    return node;
  }

  Graph* const graph_;
  ControlFlowInfo* const info_;
  absl::flat_hash_map<std::pair<int, std::string>, Node*>* const merges_;
};

}  // namespace

absl::StatusOr<ControlLoops> ControlLoops::Add(const LocationFn& location, Graph* graph, ControlFlowInfo* info) {
  ControlLoops loops;
  Builder builder(graph, info, &loops.triggers_);
  for (Node* node : graph->nodes()) {
    const int frame = info->InputFrame(*node);
    if (frame == 0) continue;
    for (const Edge* edge : node->in_edges()) {
      if (location(*edge->src) == location(*node)) continue;
      RETURN_IF_ERROR(builder.MergeOf(frame, node->assigned_device()).status());
      // On a device that sends a loop-invariant value, the control loop may be the only thing that iterates.
      RETURN_IF_ERROR(builder.MergeOf(frame, edge->src->assigned_device()).status());
    }
  }
  return loops;
}

Node* ControlLoops::Trigger(int frame, absl::string_view device) const {
  if (frame == 0) return nullptr;
  auto it = triggers_.find({frame, std::string(device)});
  return it == triggers_.end() ? nullptr : it->second;
}

}  // namespace weir
