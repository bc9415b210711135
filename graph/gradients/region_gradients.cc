#include "graph/gradients/region_gradients.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "graph/function_library.h"
#include "graph/gradients/function_call_gradient.h"
#include "graph/gradients/loop_gradient.h"
#include "graph/gradients/loop_structure.h"

namespace weir {

RegionGradients::RegionGradients(GradientWorkspace* workspace, int frame, int backward_frame)
    : workspace_(*workspace),
      frame_(frame),
      backward_frame_(backward_frame),
      num_ids_(workspace->graph()->num_node_ids()) {
  const ControlFlowInfo& info = workspace_.info();
  units_.assign(num_ids_, kOutside);
  for (const Node* node : workspace_.graph()->nodes()) {
    if (!workspace_.IsBetween(*node)) continue;
    int frame = info.frame_of[node->id()];
    if (frame == frame_) {
      const bool edge_of_loop = node->IsNextIteration() || node->IsExit() || IsLoopMerge(*node) ||
                                (node->IsEnter() && !IsConstantEnter(*node));
      units_[node->id()] = edge_of_loop ? kOutside : node->id();
      continue;
    }
    while (frame != 0 && info.frames[frame].parent != frame_) frame = info.frames[frame].parent;
    if (frame != 0) units_[node->id()] = num_ids_ + frame;
  }
}

int RegionGradients::UnitOf(const Node& node) const { return node.id() < num_ids_ ? units_[node.id()] : kOutside; }

bool RegionGradients::Connects(const Edge& edge) const {
  if (!workspace_.Flows(edge)) return false;
  const int from = UnitOf(*edge.src), to = UnitOf(*edge.dst);
  return from != kOutside && to != kOutside && from != to;
}

// A unit is ready when the gradients of all its consumers on the path have been added.
void RegionGradients::CountPending() {
  for (int id = 0; id < num_ids_; ++id) {
    if (units_[id] == kOutside) continue;
    for (const Edge* edge : workspace_.graph()->node(id)->in_edges()) {
      if (Connects(*edge)) ++pending_[UnitOf(*edge->src)];
    }
  }
}

void RegionGradients::Enqueue(int unit) {
  if (unit != kOutside && pending_[unit] == 0 && queued_.insert(unit).second) ready_.push_back(unit);
}

absl::Status RegionGradients::Run(const std::vector<Output>& seeded) {
  CountPending();
  for (const Output& output : seeded) Enqueue(UnitOf(*output.node()));
  while (!ready_.empty()) {
    const int unit = ready_.front();
    ready_.pop_front();
    RETURN_IF_ERROR(Visit(unit));
  }
  return absl::OkStatus();
}

absl::Status RegionGradients::Visit(int unit) {
  return unit < num_ids_ ? VisitNode(workspace_.graph()->node(unit)) : VisitLoop(unit - num_ids_);
}

void RegionGradients::Deliver(const Edge& edge, const Gradient& gradient) {
  if (gradient.valid()) gradients_[Output(edge.src, edge.src_output)].push_back(gradient);
  --pending_[UnitOf(*edge.src)];
  Enqueue(UnitOf(*edge.src));
}

absl::Status RegionGradients::VisitNode(Node* node) {
  const std::vector<Edge*> edges(node->in_edges().begin(), node->in_edges().end());
  const bool wanted = std::any_of(edges.begin(), edges.end(), [this](const Edge* edge) { return Connects(*edge); });
  if (!wanted) return absl::OkStatus();
  std::vector<Gradient> grad_outputs(node->num_outputs());
  bool any = false;
  for (int i = 0; i < node->num_outputs(); ++i) {
    ASSIGN_OR_RETURN(grad_outputs[i], Sum(Output(node, i)));
    any = any || grad_outputs[i].valid();
  }
  std::vector<Gradient> grad_inputs(node->num_inputs());
  if (any) {
    ASSIGN_OR_RETURN(grad_inputs, Differentiate(node, std::move(grad_outputs)));
    workspace_.Claim(backward_frame_);
  }
  for (const Edge* edge : edges) {
    if (Connects(*edge)) Deliver(*edge, grad_inputs[edge->dst_input]);
  }
  return absl::OkStatus();
}

absl::Status RegionGradients::VisitLoop(int frame) {
  workspace_.Claim(backward_frame_);
  ASSIGN_OR_RETURN(LoopStructure structure, FindLoop(*workspace_.graph(), workspace_.info(), frame));
  LoopGradient loop(&workspace_, structure, frame_, backward_frame_);
  bool any = false;
  for (const LoopVariable& variable : structure.variables) {
    if (variable.exit == nullptr) continue;
    ASSIGN_OR_RETURN(Gradient gradient, Sum(Output(variable.exit, 0)));
    any = any || gradient.valid();
    loop.SetExitGradient(variable.exit, gradient);
  }
  if (any) RETURN_IF_ERROR(loop.Build());
  for (int id = 0; id < num_ids_; ++id) {
    if (units_[id] != num_ids_ + frame) continue;
    const Node* node = workspace_.graph()->node(id);
    const std::vector<Edge*> edges(node->in_edges().begin(), node->in_edges().end());
    for (const Edge* edge : edges) {
      if (Connects(*edge)) Deliver(*edge, loop.EnterGradient(node));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Gradient>> RegionGradients::Differentiate(Node* node, std::vector<Gradient> grad_outputs) {
  if (node->IsMerge()) return DifferentiateMerge(node, grad_outputs[0]);
  if (node->IsSwitch()) return DifferentiateSwitch(node, grad_outputs);
  const OpRegistration* op = workspace_.graph()->ops().Find(node->op());
  GradientFn fn = nullptr;
  if (op != nullptr) {
    if (!op->differentiable) return std::vector<Gradient>(node->num_inputs());
    fn = op->gradient;
  } else if (workspace_.graph()->functions().Find(node->op()) != nullptr) {
    fn = FunctionCallGradient;
  }
  if (fn == nullptr) {
    return errors::Unimplemented("No gradient defined for operation '", node->name(), "' (op type: ", node->op(),
                                 "). Stop the gradient before it, or register one.");
  }
  GradientContext context(workspace_.graph(), node, std::move(grad_outputs), workspace_.options().name_scope);
  context.set_run(workspace_.run());
  context.UpdateStatus(fn(context));
  if (!context.status().ok()) {
    return Annotate(context.status(), absl::StrCat("Gradient of '", node->name(), "' (", node->op(), ")"));
  }
  return context.TakeInputGradients();
}

// Passes the gradient to each input, in the branch that the input came from.
absl::StatusOr<std::vector<Gradient>> RegionGradients::DifferentiateMerge(Node* node, const Gradient& gradient) {
  std::vector<Gradient> grad_inputs(node->num_inputs());
  if (!gradient.valid()) return grad_inputs;
  ASSIGN_OR_RETURN(Output dense, workspace_.Densify(gradient));
  BranchContexts& branches = workspace_.branches();
  const int outside = branches.Of(Output(node, 0));
  absl::flat_hash_map<std::pair<Output, Output>, Operation> switches;
  for (int i = 0; i < node->num_inputs(); ++i) {
    const Edge* input = node->input_edge(i);
    const int context = branches.Of(Output(input->src, input->src_output));
    if (context == outside) {
      return errors::Unimplemented("The gradient of '", node->name(), "' (Merge): cannot determine when its input ", i,
                                   ", from '", input->src->name(), "', is taken; it must come through a Switch");
    }
    Output here = dense;
    for (const BranchContexts::Branch& branch : branches.Path(outside, context)) {
      Operation& op = switches[{here, branch.predicate}];
      if (!op.valid()) {
        ASSIGN_OR_RETURN(op, workspace_.AddSwitch(here, branch, node->requested_device()));
      }
      here = Output(op, branch.taken);
    }
    grad_inputs[i] = here;
  }
  return grad_inputs;
}

// The gradient from the branch that was taken; zeros if that branch does not use the value.
absl::StatusOr<std::vector<Gradient>> RegionGradients::DifferentiateSwitch(Node* node,
                                                                           const std::vector<Gradient>& gradients) {
  std::vector<Gradient> grad_inputs(node->num_inputs());
  const std::string& device = node->requested_device();
  if (absl::c_all_of(gradients, [](const Gradient& gradient) { return gradient.is_sparse(); })) {
    Output merged[3];
    const Output Gradient::*parts[] = {&Gradient::values, &Gradient::indices, &Gradient::dense_shape};
    for (int i = 0; i < 3; ++i) {
      InputList branches;
      for (const Gradient& gradient : gradients) branches.push_back(gradient.*parts[i]);
      ASSIGN_OR_RETURN(merged[i], workspace_.AddOp("Merge", {branches}, device));
    }
    grad_inputs[0] = Gradient(merged[0], merged[1], merged[2]);
    return grad_inputs;
  }
  const DataType type = absl::c_find_if(gradients, [](const Gradient& g) { return g.valid(); })->values.type();
  InputList branches;
  for (size_t i = 0; i < gradients.size(); ++i) {
    ASSIGN_OR_RETURN(Output part, gradients[i].valid() ? workspace_.Densify(gradients[i])
                                                       : workspace_.Zeros(Output(node, static_cast<int>(i)), type));
    branches.push_back(part);
  }
  ASSIGN_OR_RETURN(grad_inputs[0], workspace_.AddOp("Merge", {branches}, device));
  return grad_inputs;
}

absl::StatusOr<Gradient> RegionGradients::Sum(const Output& output) {
  auto it = gradients_.find(output);
  if (it == gradients_.end()) return Gradient();
  std::vector<Gradient>& parts = it->second;
  if (parts.size() == 1) return parts[0];
  const bool all_sparse = std::all_of(parts.begin(), parts.end(), [](const Gradient& g) { return g.is_sparse(); });
  ASSIGN_OR_RETURN(Gradient sum, all_sparse ? Concatenate(parts) : AddUp(parts));
  workspace_.Claim(backward_frame_);
  parts = {sum};
  return sum;
}

absl::StatusOr<Gradient> RegionGradients::Concatenate(const std::vector<Gradient>& parts) {
  InputList values, indices;
  for (const Gradient& part : parts) {
    values.push_back(part.values);
    indices.push_back(part.indices);
  }
  // Converts indices to one width if a table is indexed with both.
  const bool wide = std::any_of(indices.begin(), indices.end(), [](const Input& i) { return i.type() == DT_INT64; });
  const std::string& device = parts[0].values.node()->requested_device();
  for (Input& index : indices) {
    if (!wide || index.type() == DT_INT64) continue;
    ASSIGN_OR_RETURN(Output cast,
                     workspace_.AddOp("Cast", {{index}}, device, {GradientContext::Set("DstT", DT_INT64)}));
    index = cast;
  }
  const Input axis(Tensor::Scalar<int32_t>(0));
  ASSIGN_OR_RETURN(Output all_values, workspace_.AddOp("ConcatV2", {values, {axis}}, device));
  ASSIGN_OR_RETURN(Output all_indices, workspace_.AddOp("ConcatV2", {indices, {axis}}, device));
  return Gradient(all_values, all_indices, parts[0].dense_shape);
}

absl::StatusOr<Gradient> RegionGradients::AddUp(const std::vector<Gradient>& parts) {
  InputList dense;
  for (const Gradient& part : parts) {
    ASSIGN_OR_RETURN(Output output, workspace_.Densify(part));
    dense.push_back(output);
  }
  ASSIGN_OR_RETURN(Output sum, workspace_.AddOp("AddN", {dense}, parts[0].values.node()->requested_device()));
  return Gradient(sum);
}

}  // namespace weir
