#include "graph/gradients/loop_gradient.h"

#include <functional>

#include "graph/gradients/region_gradients.h"

namespace weir {
namespace {

using G = GradientContext;

// `step` applied to `value` if all of `branches` are taken, otherwise `value` unchanged.
absl::StatusOr<Output> InBranches(GradientWorkspace* workspace, const Output& value,
                                  absl::Span<const BranchContexts::Branch> branches,
                                  const std::function<absl::StatusOr<Output>(const Output&)>& step) {
  if (branches.empty()) return step(value);
  const BranchContexts::Branch& branch = branches.front();
  const std::string device = value.node()->requested_device();
  ASSIGN_OR_RETURN(const Operation split, workspace->AddSwitch(value, branch, device));
  ASSIGN_OR_RETURN(Output taken, InBranches(workspace, Output(split, branch.taken), branches.subspan(1), step));
  InputList ends;
  for (int i = 0; i < branch.branches; ++i) ends.push_back(i == branch.taken ? taken : Output(split, i));
  return workspace->AddOp("Merge", {ends}, device);
}

}  // namespace

LoopGradient::LoopGradient(GradientWorkspace* workspace, const LoopStructure& loop, int parent, int backward_parent)
    : workspace_(*workspace),
      loop_(loop),
      parent_(parent),
      backward_parent_(backward_parent),
      device_(loop.condition->requested_device()) {}

Gradient LoopGradient::EnterGradient(const Node* enter) const {
  auto it = enter_gradients_.find(enter);
  return it == enter_gradients_.end() ? Gradient() : it->second;
}

absl::Status LoopGradient::Build() {
  RETURN_IF_ERROR(AddForwardCounter());
  RETURN_IF_ERROR(AddBackwardCounter());
  return AddBody();
}

absl::StatusOr<Output> LoopGradient::AddEnter(const Output& value, bool backward, bool constant) {
  const LoopFrame& frame = workspace_.info().frames[backward ? backward_frame_ : loop_.frame];
  const auto attrs = {G::Set("frame_name", frame.name), G::Set("is_constant", constant),
                      G::Set("parallel_iterations", frame.parallel_iterations)};
  ASSIGN_OR_RETURN(Output enter, workspace_.AddOp("Enter", {{value}}, value.node()->requested_device(), attrs));
  workspace_.Claim(backward ? backward_frame_ : loop_.frame);
  return enter;
}

absl::StatusOr<LoopGradient::Cycle> LoopGradient::OpenCycle(const Output& first, bool backward,
                                                            const Output& condition) {
  const std::string device = first.node()->requested_device();
  Cycle cycle;
  ASSIGN_OR_RETURN(Output enter, AddEnter(first, backward, /*constant=*/false));
  ASSIGN_OR_RETURN(cycle.merge, workspace_.AddOp("Merge", {{enter, enter}}, device));
  if (!condition.valid()) return cycle;
  ASSIGN_OR_RETURN(Output leave, workspace_.AddOp("Switch", {{cycle.merge}, {condition}}, device));
  ASSIGN_OR_RETURN(cycle.body, workspace_.AddOp("Identity", {{Output(leave.op(), 1)}}, device));
  ASSIGN_OR_RETURN(Output exit, workspace_.AddOp("Exit", {{leave}}, device));
  cycle.exit = exit.op();
  return cycle;
}

absl::Status LoopGradient::Close(const Cycle& cycle, const Output& next) {
  ASSIGN_OR_RETURN(Output back, workspace_.AddOp("NextIteration", {{next}}, cycle.merge.node()->requested_device()));
  return workspace_.graph()->ReplaceInput(cycle.merge.node(), 1, back.node(), 0);
}

std::vector<Node*> LoopGradient::AtEntry() const {
  return anchor_ == nullptr ? std::vector<Node*>() : std::vector<Node*>{anchor_};
}

absl::Status LoopGradient::AddForwardCounter() {
  const Edge* first = loop_.variables[0].enter->input_edge(0);
  const Output entered(first->src, first->src_output);
  if (parent_ != 0 || workspace_.branches().Of(entered) != 0) {
    ASSIGN_OR_RETURN(Output anchor, workspace_.AddOp("Identity", {{entered}}, entered.node()->requested_device()));
    anchor_ = anchor.node();
  }
  ASSIGN_OR_RETURN(Output zero, workspace_.AddConstant(Tensor::Scalar<int32_t>(0), device_, AtEntry()));
  workspace_.Claim(parent_);
  ASSIGN_OR_RETURN(Cycle counter, OpenCycle(zero, /*backward=*/false, Output(loop_.condition, 0)));
  forward_pivot_ = counter.body;
  ASSIGN_OR_RETURN(Output one, workspace_.AddConstant(Tensor::Scalar<int32_t>(1), device_, {forward_pivot_.node()}));
  ASSIGN_OR_RETURN(Output sum, workspace_.AddOp("AddV2", {{forward_pivot_}, {one}}, device_));
  RETURN_IF_ERROR(Close(counter, sum));
  workspace_.Claim(loop_.frame);
  count_ = Output(counter.exit, 0);
  return absl::OkStatus();
}

absl::Status LoopGradient::AddBackwardCounter() {
  ControlFlowInfo& info = workspace_.info();
  LoopFrame frame;
  frame.name = workspace_.graph()->UniqueName(
      absl::StrCat(workspace_.options().name_scope, "/", info.frames[loop_.frame].name, "_", info.frames.size()));
  frame.parent = backward_parent_;
  frame.parallel_iterations = info.frames[loop_.frame].parallel_iterations;
  backward_frame_ = static_cast<int>(info.frames.size());
  info.frames.push_back(frame);

  ASSIGN_OR_RETURN(Cycle counter, OpenCycle(count_, /*backward=*/true, Output()));
  ASSIGN_OR_RETURN(Output zero, workspace_.AddConstant(Tensor::Scalar<int32_t>(0), device_, {counter.merge.node()}));
  ASSIGN_OR_RETURN(Output more, workspace_.AddOp("Greater", {{counter.merge}, {zero}}, device_));
  ASSIGN_OR_RETURN(backward_condition_, workspace_.AddOp("LoopCond", {{more}}, device_));
  info.frames[backward_frame_].loop_cond = backward_condition_.node();
  ASSIGN_OR_RETURN(Output leave, workspace_.AddOp("Switch", {{counter.merge}, {backward_condition_}}, device_));
  ASSIGN_OR_RETURN(backward_pivot_, workspace_.AddOp("Identity", {{Output(leave.op(), 1)}}, device_));
  ASSIGN_OR_RETURN(Output one, workspace_.AddConstant(Tensor::Scalar<int32_t>(1), device_, {backward_pivot_.node()}));
  ASSIGN_OR_RETURN(Output left, workspace_.AddOp("Sub", {{backward_pivot_}, {one}}, device_));
  RETURN_IF_ERROR(Close(counter, left));
  workspace_.Claim(backward_frame_);
  return absl::OkStatus();
}

absl::StatusOr<Output> LoopGradient::FirstGradient(const LoopVariable& variable) {
  auto it = variable.exit == nullptr ? exit_gradients_.end() : exit_gradients_.find(variable.exit);
  absl::StatusOr<Output> first;
  if (it != exit_gradients_.end() && it->second.valid()) {
    first = workspace_.Densify(it->second);
    workspace_.Claim(backward_parent_);
    return first;
  }
  Output last(variable.exit, 0);
  if (variable.exit == nullptr) {
    ASSIGN_OR_RETURN(last, workspace_.AddOp("Exit", {{Output(variable.switch_node, 0)}}, device_));
    workspace_.Claim(loop_.frame);
  }
  first = workspace_.AddOp("ZerosLike", {{last}}, device_);
  workspace_.Claim(backward_parent_);
  return first;
}

absl::StatusOr<Output> LoopGradient::NextGradient(RegionGradients& body, const LoopVariable& variable) {
  const Output start(variable.switch_node, 1);
  ASSIGN_OR_RETURN(Gradient gradient, body.Sum(start));
  return gradient.valid() ? workspace_.Densify(gradient) : workspace_.AddOp("ZerosLike", {{start}}, device_);
}

absl::Status LoopGradient::AddBody() {
  const int first_id = workspace_.graph()->num_node_ids();
  std::vector<std::pair<LoopVariable, Cycle>> cycles;
  std::vector<Output> ends;
  RegionGradients body(&workspace_, loop_.frame, backward_frame_);
  for (const LoopVariable& variable : loop_.variables) {
    if (!workspace_.IsBetween(*variable.merge)) continue;
    ASSIGN_OR_RETURN(Output first, FirstGradient(variable));
    ASSIGN_OR_RETURN(Cycle cycle, OpenCycle(first, /*backward=*/true, backward_condition_));
    workspace_.Claim(backward_frame_);
    const Edge* end = variable.next->input_edge(0);
    ends.push_back(Output(end->src, end->src_output));
    body.Seed(ends.back(), cycle.body);
    cycles.emplace_back(variable, cycle);
  }
  RETURN_IF_ERROR(body.Run(ends));
  for (auto& [variable, cycle] : cycles) {
    ASSIGN_OR_RETURN(Output next, NextGradient(body, variable));
    RETURN_IF_ERROR(Close(cycle, next));
    enter_gradients_[variable.enter] = Output(cycle.exit, 0);
  }
  workspace_.Claim(backward_frame_);
  for (Node* enter : loop_.constants) {
    ASSIGN_OR_RETURN(Gradient gradient, body.Sum(Output(enter, 0)));
    if (gradient.valid()) RETURN_IF_ERROR(AddSum(enter, gradient));
  }
  return ConnectBody(first_id);
}

// The gradient of a loop-invariant value: the sum over all iterations.
absl::Status LoopGradient::AddSum(Node* enter, const Gradient& gradient) {
  ASSIGN_OR_RETURN(Output dense, workspace_.Densify(gradient));
  workspace_.Claim(backward_frame_);
  const Edge* outside = enter->input_edge(0);
  ASSIGN_OR_RETURN(Output zeros, workspace_.Zeros(Output(outside->src, outside->src_output), dense.type()));
  workspace_.Claim(backward_parent_);
  ASSIGN_OR_RETURN(Cycle cycle, OpenCycle(zeros, /*backward=*/true, backward_condition_));
  const bool is_list = dense.type() == DT_VARIANT;
  ASSIGN_OR_RETURN(Output sum, is_list ? workspace_.AddOp("AddN", {{cycle.body, dense}}, device_)
                                       : workspace_.AddOp("AddV2", {{cycle.body}, {dense}}, device_));
  RETURN_IF_ERROR(Close(cycle, sum));
  workspace_.Claim(backward_frame_);
  enter_gradients_[enter] = Output(cycle.exit, 0);
  return absl::OkStatus();
}

// A node of the body that only needs the shape of a forward value: it can run in the forward loop, so that the shape is
// saved.
bool LoopGradient::ReadsShape(const Node& node) const {
  if (node.op() != "Shape" && node.op() != "Size" && node.op() != "Rank") return false;
  return workspace_.info().OutputFrame(*node.input_edge(0)->src) == loop_.frame;
}

absl::Status LoopGradient::ConnectBody(int first_id) {
  Graph* graph = workspace_.graph();
  ControlFlowInfo& info = workspace_.info();
  const int last_id = graph->num_node_ids();
  for (int id = first_id; id < last_id; ++id) {
    if (info.frame_of[id] == backward_frame_ && ReadsShape(*graph->node(id))) info.frame_of[id] = loop_.frame;
  }
  for (int id = first_id; id < last_id; ++id) {
    Node* node = graph->node(id);
    if (info.InputFrame(*node) != backward_frame_) continue;
    if (node->in_edges().empty()) graph->AddControlEdge(backward_pivot_.node(), node);
    for (int i = 0; i < node->num_inputs(); ++i) {
      const Edge* edge = node->input_edge(i);
      if (info.OutputFrame(*edge->src) != loop_.frame) continue;
      ASSIGN_OR_RETURN(Output saved, Saved(Output(edge->src, edge->src_output)));
      RETURN_IF_ERROR(graph->ReplaceInput(node, i, saved.node(), saved.index()));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Output> LoopGradient::Saved(const Output& forward) {
  if (auto it = saved_.find(forward); it != saved_.end()) return it->second;
  absl::StatusOr<Output> saved;
  if (IsConstantEnter(*forward.node())) {
    const Edge* outside = forward.node()->input_edge(0);
    saved = AddEnter(Output(outside->src, outside->src_output), /*backward=*/true, /*constant=*/true);
  } else if (forward.node()->IsConstant()) {
    Tensor value;
    RETURN_IF_ERROR(GetNodeAttr(forward.node()->def(), "value", &value));
    saved = workspace_.AddConstant(value, forward.node()->requested_device(), {backward_pivot_.node()});
  } else {
    saved = SaveInList(forward);
  }
  RETURN_IF_ERROR(saved.status());
  workspace_.Claim(backward_frame_);
  saved_[forward] = *saved;
  return saved;
}

// The value of a branch that was not taken is neither appended nor removed.
absl::StatusOr<Output> LoopGradient::SaveInList(const Output& forward) {
  workspace_.Claim(backward_frame_);
  const std::string device = forward.node()->requested_device();
  ASSIGN_OR_RETURN(Output any, workspace_.AddConstant(Tensor::Scalar<int32_t>(-1), device, AtEntry()));
  ASSIGN_OR_RETURN(Output list, workspace_.AddOp("EmptyTensorList", {{any}, {any}}, device,
                                                 {G::Set("element_dtype", forward.type())}));
  workspace_.Claim(parent_);
  ASSIGN_OR_RETURN(Cycle saving, OpenCycle(list, /*backward=*/false, Output(loop_.condition, 0)));
  ASSIGN_OR_RETURN(const auto branches, BranchesOf(forward, /*backward=*/false));
  ASSIGN_OR_RETURN(Output longer, InBranches(&workspace_, saving.body, branches, [&](const Output& here) {
                     return workspace_.AddOp("TensorListPushBack", {{here}, {forward}}, device);
                   }));
  RETURN_IF_ERROR(Close(saving, longer));
  workspace_.Claim(loop_.frame);

  ASSIGN_OR_RETURN(Cycle reading, OpenCycle(Output(saving.exit, 0), /*backward=*/true, backward_condition_));
  workspace_.Claim(backward_frame_);
  ASSIGN_OR_RETURN(const auto branches_then, BranchesOf(forward, /*backward=*/true));
  Output value;
  ASSIGN_OR_RETURN(
      Output shorter,
      InBranches(&workspace_, reading.body, branches_then, [&](const Output& here) -> absl::StatusOr<Output> {
        ASSIGN_OR_RETURN(Output shape,
                         workspace_.AddConstant(Tensor::Scalar<int32_t>(-1), device, {backward_pivot_.node()}));
        ASSIGN_OR_RETURN(Output rest, workspace_.AddOp("TensorListPopBack", {{here}, {shape}}, device,
                                                       {G::Set("element_dtype", forward.type())}));
        value = Output(rest.op(), 1);
        return rest;
      }));
  RETURN_IF_ERROR(Close(reading, shorter));
  workspace_.Claim(backward_frame_);
  return value;
}

absl::StatusOr<std::vector<BranchContexts::Branch>> LoopGradient::BranchesOf(const Output& forward, bool backward) {
  BranchContexts& contexts = workspace_.branches();
  std::vector<BranchContexts::Branch> path = contexts.Path(0, contexts.Of(forward));
  if (!backward) return path;
  for (BranchContexts::Branch& branch : path) {
    ASSIGN_OR_RETURN(branch.predicate, Saved(branch.predicate));
  }
  return path;
}

}  // namespace weir
