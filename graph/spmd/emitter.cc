#include "graph/spmd/emitter.h"

#include "graph/op_builder.h"

namespace weir::spmd {

Output Emitter::Add(const std::string& name, const std::string& device, const char* op,
                    const std::vector<InputList>& inputs, const std::vector<AttrSetter>& attrs) {
  if (!status_.ok()) return Output();
  tensorflow::NodeDef def;
  def.set_name(graph_->UniqueName(name));
  def.set_op(op);
  def.set_device(device);
  for (const AttrSetter& set : attrs) set(&def);
  absl::StatusOr<Operation> added = AddOperation(graph_, std::move(def), inputs);
  if (!added.ok()) {
    UpdateStatus(added.status());
    return Output();
  }
  return Output(*added, 0);
}

Node* Emitter::AddNode(tensorflow::NodeDef def, const std::vector<Output>& inputs) {
  if (!status_.ok()) return nullptr;
  def.clear_input();
  absl::StatusOr<Node*> node = graph_->AddNode(std::move(def));
  if (!node.ok()) {
    UpdateStatus(node.status());
    return nullptr;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    UpdateStatus(graph_->AddEdge(inputs[i].node(), inputs[i].index(), *node, static_cast<int>(i)).status());
  }
  return *node;
}

Output Emitter::Constant(const std::string& device, const Tensor& value) {
  if (!status_.ok()) return Output();
  tensorflow::NodeDef def;
  SetNodeAttr("dtype", value.dtype(), &def);
  SetNodeAttr("value", value, &def);
  const std::string key = absl::StrCat(device, "|", def.attr().at("value").SerializeAsString());
  Output& constant = constants_[key];
  if (!constant.valid()) {
    def.set_op("Const");
    def.set_name(graph_->UniqueName("spmd/constant"));
    def.set_device(device);
    Node* node = AddNode(std::move(def), {});
    if (node != nullptr) constant = Output(node, 0);
  }
  return constant;
}

Output Emitter::Vector(const std::string& device, const std::vector<int64_t>& values, DataType type) {
  if (type == DT_INT64) return Constant(device, Tensor::Vector<int64_t>(values));
  const std::vector<int32_t> narrow(values.begin(), values.end());
  return Constant(device, Tensor::Vector<int32_t>(narrow));
}

}  // namespace weir::spmd
