#include "graph/passes/type_view.h"

#include <algorithm>

#include "core/op/attr_value.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/op_def.pb.h"

namespace weir {
namespace {

void AddOnce(int value, std::vector<int>* list) {
  if (std::find(list->begin(), list->end(), value) == list->end()) list->push_back(value);
}

}  // namespace

TypeView::TypeView(const Graph& graph) : nodes_(graph.num_node_ids()) {
  const std::vector<Node*> nodes = graph.nodes();
  for (Node* node : nodes) AddNode(node);
  before_.resize(slots_.size());
  after_.resize(slots_.size());
  for (const Node* node : nodes) {
    for (int i = 0; i < node->num_inputs(); ++i) {
      const Edge* edge = node->input_edge(i);
      if (edge == nullptr) continue;
      const int from = OutputSlot(*edge->src, edge->src_output), to = InputSlot(*node, i);
      before_[to].push_back(from);
      after_[from].push_back(to);
    }
  }
  for (auto* joined : {&before_, &after_}) {
    for (std::vector<int>& list : *joined) {
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
  }
}

void TypeView::AddNode(Node* node) {
  NodeSlots& slots = nodes_[node->id()];
  // By attribute and index in its list; by type if there is no attribute. Lists may be long.
  absl::flat_hash_map<std::pair<std::string, int>, int> known;
  const auto slot_for = [&](const std::string& attr, int index, DataType type) {
    const auto [found, is_new] = known.try_emplace({attr, attr.empty() ? type : index}, size());
    if (is_new) {
      slots_.push_back({node, attr, index, type});
      slots.all.push_back(found->second);
    }
    return found->second;
  };
  const auto add = [&](const auto& args, const DataTypeVector& types, std::vector<int>* out) {
    for (const auto& arg : args) {
      const std::string& attr = arg.type_list_attr().empty() ? arg.type_attr() : arg.type_list_attr();
      DataTypeVector of_arg;
      // The node was checked when it was added, so its attributes exist.
      if (!ArgTypes(node->def(), arg, &of_arg).ok()) return;
      for (size_t i = 0; i < of_arg.size(); ++i) {
        const int index = arg.type_list_attr().empty() ? -1 : static_cast<int>(i);
        out->push_back(slot_for(attr, index, RemoveRef(types[out->size()])));
      }
    }
  };
  add(node->op_def().input_arg(), node->input_types(), &slots.inputs);
  add(node->op_def().output_arg(), node->output_types(), &slots.outputs);
  // Types that no input or output has: the element type of a list, for example.
  for (const auto& attr : node->op_def().attr()) {
    const tensorflow::AttrValue* value = FindAttr(node->def(), attr.name());
    if (value == nullptr) continue;
    if (attr.type() == "type") slot_for(attr.name(), -1, static_cast<DataType>(value->type()));
    if (attr.type() != "list(type)") continue;
    for (int i = 0; i < value->list().type_size(); ++i)
      slot_for(attr.name(), i, static_cast<DataType>(value->list().type(i)));
  }
}

int TypeView::Find(const Node& node, absl::string_view attr) const {
  for (int i : SlotsOf(node)) {
    if (slots_[i].attr == attr) return i;
  }
  return -1;
}

void TypeView::Join(int from, int to) {
  AddOnce(from, &before_[to]);
  AddOnce(to, &after_[from]);
}

void SetSlotType(const TypeView::Slot& slot, DataType type, tensorflow::NodeDef* def) {
  tensorflow::AttrValue& value = (*def->mutable_attr())[slot.attr];
  if (slot.index < 0) {
    value.set_type(static_cast<tensorflow::DataType>(type));
  } else {
    value.mutable_list()->set_type(slot.index, static_cast<tensorflow::DataType>(type));
  }
}

}  // namespace weir
