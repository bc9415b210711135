#include "graph/gradients/gradient_context.h"

#include "graph/graph.h"
#include "graph/op_builder.h"

namespace weir {

GradientContext::GradientContext(Graph* graph, Node* op, std::vector<Gradient> grad_outputs, std::string name_scope)
    : graph_(graph),
      op_(op),
      grad_outputs_(std::move(grad_outputs)),
      grad_inputs_(op->num_inputs()),
      name_scope_(std::move(name_scope)) {
  grad_outputs_.resize(op->num_outputs());
}

const tensorflow::NodeDef& GradientContext::def() const { return op_->def(); }

int GradientContext::num_inputs() const { return op_->num_inputs(); }

Output GradientContext::input(int i) const {
  const Edge* edge = op_->input_edge(i);
  return edge == nullptr ? Output() : Output(edge->src, edge->src_output);
}

Output GradientContext::dy(int i) {
  return grad_outputs_[i].valid() ? Densify(grad_outputs_[i]) : Call("ZerosLike", {output(i)});
}

Output GradientContext::Densify(const Gradient& grad) {
  if (!grad.is_sparse()) return grad.values;
  const Output rows =
      Call("StridedSlice",
           {grad.dense_shape, Tensor::Vector<int32_t>({0}), Tensor::Vector<int32_t>({1}), Tensor::Vector<int32_t>({1})},
           {Set("shrink_axis_mask", int64_t{1})});
  return Call("UnsortedSegmentSum", {grad.values, grad.indices, rows});
}

Output GradientContext::Call(absl::string_view op, const std::vector<Input>& inputs,
                             const std::vector<AttrSetter>& attrs) {
  std::vector<InputList> lists;
  for (const Input& input : inputs) lists.push_back({input});
  return CallWithLists(op, lists, attrs);
}

Output GradientContext::CallWithLists(absl::string_view op, const std::vector<InputList>& inputs,
                                      const std::vector<AttrSetter>& attrs) {
  if (!status_.ok()) return Output();
  tensorflow::NodeDef def;
  def.set_op(std::string(op));
  def.set_name(graph_->UniqueName(absl::StrCat(name_scope_, "/", op_->name(), "_grad/", op)));
  def.set_device(op_->requested_device());
  for (const AttrSetter& set : attrs) set(&def);
  auto operation = AddOperation(graph_, std::move(def), inputs);
  if (!operation.ok()) {
    UpdateStatus(operation.status());
    return Output();
  }
  return Output(*operation, 0);
}

}  // namespace weir
