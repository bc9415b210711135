#include "graph/gradients/gradient_workspace.h"

#include "absl/algorithm/container.h"
#include "graph/gradients/called_functions.h"
#include "graph/op_builder.h"

namespace weir {
namespace {

// Gradients flow through floating and complex numbers, and through handles of objects that hold them.
bool IsDifferentiableType(DataType type) {
  type = RemoveRef(type);
  return IsFloating(type) || IsComplex(type) || type == DT_RESOURCE || type == DT_VARIANT;
}

// Functions that call others more than once can expand exponentially.
constexpr int kMaxNodes = 2'000'000;

}  // namespace

absl::Status GradientWorkspace::Init(const std::vector<Output>& ys, const std::vector<Output>& xs) {
  run_ = absl::StrCat(options_.name_scope, "_", graph_->num_node_ids());
  stops_.insert(options_.stop_gradients.begin(), options_.stop_gradients.end());
  RETURN_IF_ERROR(WriteOutCalls(ys, xs));
  // Loops under construction may not be well-formed yet; that matters only if gradients flow through them.
  for (const Node* node : graph_->nodes()) {
    if (!IsBetween(*node) || !node->IsControlFlow()) continue;
    ASSIGN_OR_RETURN(info_, AnalyzeControlFlow(*graph_));
    return absl::OkStatus();
  }
  info_.frames.push_back(LoopFrame());
  info_.frame_of.assign(graph_->num_node_ids(), 0);
  return absl::OkStatus();
}

absl::Status GradientWorkspace::WriteOutCalls(const std::vector<Output>& ys, const std::vector<Output>& xs) {
  absl::flat_hash_set<int> staying;
  for (bool changed = true; changed;) {
    MarkBetween(ys, xs);
    changed = false;
    for (Node* node : graph_->nodes()) {
      const bool wanted = IsBetween(*node) && absl::c_any_of(node->in_edges(), [this](const Edge* edge) {
                            return Flows(*edge) && IsBetween(*edge->src);
                          });
      if (!wanted || staying.contains(node->id()) || !IsDifferentiatedByBody(*node, graph_->functions())) continue;
      if (graph_->num_nodes() > kMaxNodes) {
        return errors::ResourceExhausted("The function calls on a gradient's path expand to more than ", kMaxNodes,
                                         " nodes");
      }
      ASSIGN_OR_RETURN(const bool written, WriteOutCall(node, graph_));
      changed = changed || written;
      if (!written) staying.insert(node->id());
    }
  }
  return absl::OkStatus();
}

bool GradientWorkspace::Flows(const Edge& edge) const {
  return !edge.is_control() && IsDifferentiableType(edge.src->output_type(edge.src_output)) &&
         !stops_.contains(Output(edge.src, edge.src_output));
}

void GradientWorkspace::MarkBetween(const std::vector<Output>& ys, const std::vector<Output>& xs) {
  std::vector<bool> forward(graph_->num_node_ids(), false);
  std::vector<Node*> stack;
  for (const Output& x : xs) stack.push_back(x.node());
  while (!stack.empty()) {
    Node* node = stack.back();
    stack.pop_back();
    if (forward[node->id()]) continue;
    forward[node->id()] = true;
    for (const Edge* edge : node->out_edges()) {
      if (Flows(*edge)) stack.push_back(edge->dst);
    }
  }
  between_.assign(graph_->num_node_ids(), false);
  for (const Output& y : ys) stack.push_back(y.node());
  while (!stack.empty()) {
    Node* node = stack.back();
    stack.pop_back();
    if (!forward[node->id()] || between_[node->id()]) continue;
    between_[node->id()] = true;
    for (const Edge* edge : node->in_edges()) {
      if (Flows(*edge)) stack.push_back(edge->src);
    }
  }
}

absl::StatusOr<Output> GradientWorkspace::AddOp(absl::string_view op, const std::vector<InputList>& inputs,
                                                const std::string& device, const std::vector<AttrSetter>& attrs,
                                                const std::vector<Node*>& controls) {
  tensorflow::NodeDef def;
  def.set_op(std::string(op));
  def.set_name(graph_->UniqueName(absl::StrCat(options_.name_scope, "/", op)));
  def.set_device(device);
  for (const AttrSetter& set : attrs) set(&def);
  ASSIGN_OR_RETURN(Operation operation, AddOperation(graph_, std::move(def), inputs, controls));
  return Output(operation, 0);
}

absl::StatusOr<Output> GradientWorkspace::AddConstant(const Tensor& value, const std::string& device,
                                                      const std::vector<Node*>& controls) {
  return AddOp("Const", {}, device,
               {GradientContext::Set("dtype", value.dtype()), GradientContext::Set("value", value)}, controls);
}

absl::StatusOr<Operation> GradientWorkspace::AddSwitch(const Output& value, const BranchContexts::Branch& branch,
                                                       const std::string& device) {
  absl::StatusOr<Output> first;
  if (branch.predicate.type() == DT_BOOL) {
    first = AddOp("Switch", {{value}, {branch.predicate}}, device);
  } else {
    first = AddOp("_SwitchN", {{value}, {branch.predicate}}, device,
                  {GradientContext::Set("num_outs", int64_t{branch.branches})});
  }
  RETURN_IF_ERROR(first.status());
  return first->op();
}

absl::StatusOr<Output> GradientWorkspace::Zeros(const Output& value, DataType type) {
  const std::string& device = value.node()->requested_device();
  if (value.type() != DT_RESOURCE) return AddOp("ZerosLike", {{value}}, device);
  ASSIGN_OR_RETURN(Output shape, AddOp("VariableShape", {{value}}, device));
  ASSIGN_OR_RETURN(Output zero,
                   AddOp("Cast", {{Tensor::Scalar<float>(0)}}, device, {GradientContext::Set("DstT", type)}));
  return AddOp("Fill", {{shape}, {zero}}, device);
}

absl::StatusOr<Output> GradientWorkspace::Densify(const Gradient& gradient) {
  GradientContext context(graph_, gradient.values.node(), {}, options_.name_scope);
  const Output dense = context.Densify(gradient);
  RETURN_IF_ERROR(context.status());
  return dense;
}

}  // namespace weir
