#include "graph/shapes/shape_refiner.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "core/memory/out_of_memory.h"
#include "core/tensor/tensor_proto.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/node_def.pb.h"

namespace weir {
namespace {

using HandleData = InferenceContext::HandleData;

bool IsBackEdge(const Edge& edge) { return !edge.is_control() && edge.src->IsNextIteration() && edge.dst->IsMerge(); }

// The most specific shape that covers both.
PartialTensorShape InCommon(const PartialTensorShape& a, const PartialTensorShape& b) {
  if (a.unknown_rank() || b.unknown_rank() || a.dims() != b.dims()) return PartialTensorShape();
  DimVector dims(a.dim_sizes().begin(), a.dim_sizes().end());
  for (int i = 0; i < b.dims(); ++i) {
    if (dims[i] != b.dim_size(i)) dims[i] = -1;
  }
  return InferenceContext::Of(dims);
}

bool SameHandle(const HandleData& a, const HandleData& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return x.dtype == y.dtype && x.shape == y.shape; });
}

// The value of a constant node, if it is small enough to matter for shapes.
std::optional<Tensor> SmallConstant(const Node& node, const PartialTensorShape& shape) {
  auto known = shape.AsTensorShape();
  const tensorflow::AttrValue* value = FindAttr(node.def(), "value");
  if (!known.ok() || known->num_elements() > IntegerValue::kMaxElements || value == nullptr) return std::nullopt;
  auto tensor = TensorFromProto(value->tensor());
  return tensor.ok() ? std::make_optional(*std::move(tensor)) : std::nullopt;
}

bool PassesValueOn(const Node& node) {
  if (node.IsSwitch() || node.op() == "Identity" || node.op() == "StopGradient") return true;
  bool is_constant = false;
  return node.IsEnter() && GetNodeAttr(node.def(), "is_constant", &is_constant).ok() && is_constant;
}

// In TensorFlow's words, so that its clients find the node.
absl::Status Explain(absl::Status status, const Node& node, const std::vector<PartialTensorShape>& inputs) {
  tensorflow::NodeDef def = node.def();
  def.clear_input();
  for (int i = 0; i < node.num_inputs(); ++i) {
    if (const Edge* edge = node.input_edge(i); edge != nullptr) def.add_input(edge->src->name());
  }
  const std::string shapes = absl::StrJoin(
      inputs, ", ", [](std::string* out, const PartialTensorShape& shape) { out->append(shape.ToString()); });
  absl::Status explained(status.code(), absl::StrCat(status.message(), " for '", SummarizeNodeDef(def),
                                                     "' with input shapes: ", shapes, "."));
  ErrorOrigin origin;
  origin.node = node.name();
  origin.op = node.op();
  return WithOrigin(std::move(explained), origin);
}

}  // namespace

std::vector<ShapeRefiner::Output>& ShapeRefiner::OutputsOf(const Node& node) {
  if (node.id() >= static_cast<int>(outputs_.size())) outputs_.resize(node.id() + 1);
  return outputs_[node.id()];
}

const ShapeRefiner::Output* ShapeRefiner::Find(const Edge* edge) const {
  if (edge == nullptr || edge->src->id() >= static_cast<int>(outputs_.size())) return nullptr;
  const std::vector<Output>& outputs = outputs_[edge->src->id()];
  return edge->src_output < static_cast<int>(outputs.size()) ? &outputs[edge->src_output] : nullptr;
}

const PartialTensorShape& ShapeRefiner::shape(const Node& node, int output) const {
  static const PartialTensorShape unknown;
  const bool known =
      node.id() < static_cast<int>(outputs_.size()) && output < static_cast<int>(outputs_[node.id()].size());
  return known ? outputs_[node.id()][output].shape : unknown;
}

const HandleData& ShapeRefiner::handle(const Node& node, int output) const {
  static const HandleData unknown;
  const bool known =
      node.id() < static_cast<int>(outputs_.size()) && output < static_cast<int>(outputs_[node.id()].size());
  return known ? outputs_[node.id()][output].handle : unknown;
}

const Tensor* ShapeRefiner::constant(const Node& node, int output) const {
  const bool known =
      node.id() < static_cast<int>(outputs_.size()) && output < static_cast<int>(outputs_[node.id()].size());
  return known && outputs_[node.id()][output].constant ? &*outputs_[node.id()][output].constant : nullptr;
}

absl::Status ShapeRefiner::RunShapeFunction(const Node& node, std::vector<Output>* outputs) {
  if (node.registration() == nullptr || node.registration()->shape_fn == nullptr) return absl::OkStatus();
  const int n = node.num_inputs();
  std::vector<PartialTensorShape> shapes(n), values(n);
  std::vector<const Tensor*> tensors(n);
  std::vector<HandleData> handles(n);
  for (int i = 0; i < n; ++i) {
    const Output* input = Find(node.input_edge(i));
    if (input == nullptr) continue;
    shapes[i] = input->shape;
    handles[i] = input->handle;
    if (input->constant) tensors[i] = &*input->constant;
    if (input->integers) values[i] = input->integers->ToShape();
  }
  InferenceContext context(node.def(), node.op_def(), shapes, std::move(tensors), node.num_outputs());
  context.set_input_values_as_shapes(std::move(values));
  context.set_input_handles(std::move(handles));
  absl::Status status = OrOutOfMemory([&] { return node.registration()->shape_fn(context); });
  if (!status.ok()) {
    return options_.strict ? Explain(std::move(status), node, shapes) : absl::OkStatus();
  }
  for (int i = 0; i < node.num_outputs(); ++i) {
    (*outputs)[i].shape = context.output(i);
    (*outputs)[i].handle = context.output_handle(i);
  }
  return absl::OkStatus();
}

// Merges the inputs that have values so far; on the first visit that excludes the loop's back edge.
void ShapeRefiner::UpdateMerge(const Node& node, std::vector<Output>* outputs) {
  const std::vector<Output>& before = OutputsOf(node);
  const Output* first = before.empty() ? nullptr : &before[0];
  Output merged;
  if (first != nullptr) merged = *first;
  for (int i = 0; i < node.num_inputs(); ++i) {
    const Output* input = Find(node.input_edge(i));
    if (input == nullptr) continue;
    merged.shape = first == nullptr ? input->shape : InCommon(merged.shape, input->shape);
    if (first == nullptr) merged.handle = input->handle;
    if (!SameHandle(merged.handle, input->handle)) merged.handle.clear();
    first = input;
  }
  (*outputs)[0].shape = merged.shape;
  (*outputs)[0].handle = merged.handle;
  (*outputs)[1].shape = TensorShape();
}

void ShapeRefiner::UpdateArg(const Node& node, std::vector<Output>* outputs) {
  int64_t index = -1;
  if (!GetNodeAttr(node.def(), "index", &index).ok() || index < 0) return;
  if (index < static_cast<int64_t>(options_.arg_shapes.size())) (*outputs)[0].shape = options_.arg_shapes[index];
  if (index < static_cast<int64_t>(options_.arg_handles.size())) (*outputs)[0].handle = options_.arg_handles[index];
}

void ShapeRefiner::UpdateValues(const Node& node, std::vector<Output>* outputs) {
  if (node.IsConstant()) {
    Output& output = (*outputs)[0];
    output.constant = SmallConstant(node, output.shape);
    if (output.constant) output.integers = IntegerValue::FromTensor(*output.constant);
    return;
  }
  if (PassesValueOn(node)) {
    const Output* input = Find(node.input_edge(0));
    for (Output& output : *outputs) {
      if (input == nullptr) break;
      output.constant = input->constant;
      output.integers = input->integers;
    }
    return;
  }
  std::vector<const IntegerValue*> values(node.num_inputs());
  std::vector<PartialTensorShape> shapes(node.num_inputs());
  for (int i = 0; i < node.num_inputs(); ++i) {
    const Output* input = Find(node.input_edge(i));
    if (input == nullptr) continue;
    shapes[i] = input->shape;
    if (input->integers) values[i] = &*input->integers;
  }
  IntegerValues known = EvaluateIntegers(node, values, shapes);
  for (size_t i = 0; i < known.size() && i < outputs->size(); ++i) {
    if (!known[i]) continue;
    Output& output = (*outputs)[i];
    output.constant = known[i]->ToTensor();
    output.integers = std::move(known[i]);
  }
}

// Applies shapes that the graph's author specified. Hints that contradict inferred shapes are ignored.
void ShapeRefiner::UseHints(const Node& node, std::vector<Output>* outputs) {
  const tensorflow::AttrValue* hints = FindAttr(node.def(), "_output_shapes");
  if (hints == nullptr || hints->list().shape_size() != node.num_outputs()) return;
  for (int i = 0; i < node.num_outputs(); ++i) {
    auto hint = PartialTensorShape::FromProto(hints->list().shape(i));
    if (!hint.ok()) continue;
    if (auto merged = (*outputs)[i].shape.MergeWith(*hint); merged.ok()) (*outputs)[i].shape = *std::move(merged);
  }
}

absl::Status ShapeRefiner::Update(const Node& node) {
  std::vector<Output> outputs(node.num_outputs());
  if (node.IsMerge()) {
    UpdateMerge(node, &outputs);
  } else if (node.op() == "_Arg") {
    UpdateArg(node, &outputs);
    UseHints(node, &outputs);
  } else {
    RETURN_IF_ERROR(RunShapeFunction(node, &outputs));
    UseHints(node, &outputs);
    UpdateValues(node, &outputs);
  }
  OutputsOf(node) = std::move(outputs);
  return absl::OkStatus();
}

// Updates a Merge with the shape from its back edge. True if its output changed.
bool ShapeRefiner::Widen(const Node& node, bool give_up) {
  std::vector<Output> outputs(node.num_outputs());
  UpdateMerge(node, &outputs);
  std::vector<Output>& before = OutputsOf(node);
  if (outputs[0].shape == before[0].shape && SameHandle(outputs[0].handle, before[0].handle)) return false;
  if (give_up) outputs[0] = Output();
  before = std::move(outputs);
  return true;
}

std::vector<Node*> TopologicalOrder(const Graph& graph) {
  std::vector<int> pending(graph.num_node_ids(), 0);
  std::vector<Node*> order;
  order.reserve(graph.num_nodes());
  for (Node* node : graph.nodes()) {
    for (const Edge* edge : node->in_edges()) pending[node->id()] += !IsBackEdge(*edge);
    if (pending[node->id()] == 0) order.push_back(node);
  }
  for (size_t i = 0; i < order.size(); ++i) {
    for (const Edge* edge : order[i]->out_edges()) {
      if (!IsBackEdge(*edge) && --pending[edge->dst->id()] == 0) order.push_back(edge->dst);
    }
  }
  return order;
}

absl::StatusOr<ShapeRefiner> InferShapes(const Graph& graph, ShapeOptions options) {
  ShapeRefiner refiner(std::move(options));
  const std::vector<Node*> order = TopologicalOrder(graph);
  std::vector<const Node*> loop_merges;
  for (const Node* node : order) {
    RETURN_IF_ERROR(refiner.Update(*node));
    const bool in_loop = std::any_of(node->in_edges().begin(), node->in_edges().end(),
                                     [](const Edge* edge) { return IsBackEdge(*edge); });
    if (in_loop) loop_merges.push_back(node);
  }
  // Dimensions only ever become unknown, so this terminates; adversarial graphs are cut short.
  constexpr int kPatience = 8;
  for (int round = 0;; ++round) {
    std::vector<bool> dirty(graph.num_node_ids(), false);
    bool changed = false;
    for (const Node* merge : loop_merges) {
      if (!refiner.Widen(*merge, round >= kPatience)) continue;
      changed = true;
      for (const Edge* edge : merge->out_edges()) dirty[edge->dst->id()] = true;
    }
    if (!changed) return refiner;
    for (const Node* node : order) {
      if (!dirty[node->id()]) continue;
      RETURN_IF_ERROR(refiner.Update(*node));
      for (const Edge* edge : node->out_edges()) dirty[edge->dst->id()] = dirty[edge->dst->id()] || !IsBackEdge(*edge);
    }
  }
}

}  // namespace weir
