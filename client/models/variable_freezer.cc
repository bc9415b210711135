#include "client/models/variable_freezer.h"

#include <optional>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "client/models/saved_model_file.h"
#include "core/op/attr_value.h"
#include "graph/graph.h"
#include "graph/graph_import.h"
#include "tensorflow/core/framework/function.pb.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace weir {
namespace {

using tensorflow::AttrValue;
using tensorflow::FunctionDef;
using tensorflow::GraphDef;
using tensorflow::NameAttrList;
using tensorflow::NodeDef;

constexpr int kMaxCallDepth = 64;  // of functions that call each other

// The types of values that stand where variables were, by position; of the arguments or results of a function.
using FrozenTypes = std::map<int, DataType>;

// Names that NodeDefs give to tensors: "node:1" in a graph, "node:output:0" in a function.
class Naming {
 public:
  explicit Naming(bool in_function) : in_function_(in_function) {}
  std::string Output(const std::string& node, const std::string& arg, int index) const {
    if (in_function_) return absl::StrCat(node, ":", arg, ":", index);
    return index == 0 ? node : absl::StrCat(node, ":", index);
  }
  // One name for each tensor: "node:0" and "node" of a graph are one.
  std::string Canonical(const std::string& input) const {
    if (!in_function_ && absl::EndsWith(input, ":0")) return input.substr(0, input.size() - 2);
    return input;
  }
  bool in_function() const { return in_function_; }

 private:
  const bool in_function_;
};

// Changes the op of a node; attributes of the runtime ("_…") stay.
void Become(const std::string& op, NodeDef* node) {
  node->set_op(op);
  std::vector<std::string> dropped;
  for (const auto& [name, value] : node->attr()) {
    if (!absl::StartsWith(name, "_") || name == "_class") dropped.push_back(name);
  }
  for (const std::string& name : dropped) node->mutable_attr()->erase(name);
}

// Sets these elements of a list of types, and forgets the shapes of results that had them.
void SetTypes(const std::string& attr, const FrozenTypes& types, NodeDef* node) {
  auto* const list = (*node->mutable_attr())[attr].mutable_list();
  const auto shapes = node->mutable_attr()->find("output_shapes");
  for (const auto& [i, type] : types) {
    if (i < list->type_size()) list->set_type(i, static_cast<tensorflow::DataType>(type));
    if (shapes == node->mutable_attr()->end() || attr == "Tin" || i >= shapes->second.list().shape_size()) continue;
    shapes->second.mutable_list()->mutable_shape(i)->Clear();
    shapes->second.mutable_list()->mutable_shape(i)->set_unknown_rank(true);
  }
}

class Freezer {
 public:
  Freezer(const std::map<std::string, Tensor>& values, GraphDef* graph) : values_(values), graph_(graph) {
    for (const FunctionDef& function : graph->library().function()) {
      functions_.emplace(function.signature().name(), function);
    }
  }

  absl::Status Run() {
    Body body(Naming(false), graph_->mutable_node());
    RETURN_IF_ERROR(Freeze(&body, 0));
    for (FunctionDef& function : added_) *graph_->mutable_library()->add_function() = std::move(function);
    return absl::OkStatus();
  }

 private:
  // A node that calls functions: it is rewritten again when more of its inputs turn out to be frozen.
  struct Call {
    NodeDef original;
    FrozenTypes arguments;
  };
  // The nodes of the graph or a function, and the tensors in it that were variables, with the types of their values.
  struct Body {
    using Nodes = google::protobuf::RepeatedPtrField<NodeDef>;
    Body(Naming n, Nodes* nodes) : naming(n), nodes(nodes) {}

    const DataType* Find(const std::string& input) const {
      const auto found = frozen.find(naming.Canonical(input));
      return found == frozen.end() ? nullptr : &found->second;
    }
    void Add(const std::string& tensor, DataType type) { changed |= frozen.emplace(tensor, type).second; }

    Naming naming;
    Nodes* nodes;
    absl::flat_hash_map<std::string, DataType> frozen;
    absl::flat_hash_map<std::string, std::string> renamed;  // of a function's tensors, whose op names them differently
    std::vector<NodeDef> added;
    std::map<std::string, Call> calls;  // by node
    std::set<std::string> done;         // nodes that need no further look
    bool changed = false;
  };
  struct Specialised {
    std::string name;
    FrozenTypes results;
  };

  absl::Status Freeze(Body* body, int depth);
  absl::Status FreezeVariable(NodeDef* node, Body* body);
  absl::Status FreezeReader(NodeDef* node, DataType type, Body* body);
  absl::Status FreezeNode(NodeDef* node, Body* body, int depth);
  // A call whose arguments begin at input `first`; `types` lists the types of arguments and `results` those of results,
  // which may be the same attribute.
  absl::Status FreezeCall(NodeDef* node, int first, const std::string& types, const std::string& results, Body* body,
                          int depth);
  absl::Status FreezeDirectCall(NodeDef* node, Body* body, int depth);
  absl::Status Specialise(NameAttrList* function, const FrozenTypes& arguments, int depth, FrozenTypes* results);
  absl::StatusOr<Specialised> Copy(const std::string& name, const FrozenTypes& arguments, int depth);
  // The frozen inputs from `first` on.
  static FrozenTypes FrozenInputs(const NodeDef& node, int first, const Body& body) {
    FrozenTypes types;
    for (int i = first; i < node.input_size(); ++i) {
      if (const DataType* type = body.Find(node.input(i)); type != nullptr) types[i - first] = *type;
    }
    return types;
  }
  static void Rename(const NodeDef& node, const std::string& from, const std::string& to, Body* body) {
    if (body->naming.in_function() && from != to) {
      body->renamed[body->naming.Output(node.name(), from, 0)] = body->naming.Output(node.name(), to, 0);
    }
  }

  const std::map<std::string, Tensor>& values_;
  GraphDef* const graph_;
  std::map<std::string, FunctionDef> functions_;
  std::map<std::pair<std::string, FrozenTypes>, Specialised> copies_;
  std::vector<FunctionDef> added_;
};

absl::Status Freezer::Freeze(Body* body, int depth) {
  if (depth > kMaxCallDepth)
    return errors::InvalidArgument("Functions call each other more than ", kMaxCallDepth, " deep");
  for (NodeDef& node : *body->nodes) {
    if (IsVariableNode(node)) RETURN_IF_ERROR(FreezeVariable(&node, body));
  }
  // Nodes are in any order, and loops have back edges.
  do {
    body->changed = false;
    for (NodeDef& node : *body->nodes) {
      if (body->done.count(node.name()) == 0) RETURN_IF_ERROR(FreezeNode(&node, body, depth));
    }
  } while (body->changed);
  for (NodeDef& node : body->added) *body->nodes->Add() = std::move(node);
  for (NodeDef& node : *body->nodes) {
    for (std::string& input : *node.mutable_input()) {
      if (const auto found = body->renamed.find(input); found != body->renamed.end()) input = found->second;
    }
  }
  return absl::OkStatus();
}

absl::Status Freezer::FreezeVariable(NodeDef* node, Body* body) {
  const auto value = values_.find(VariableNameOf(*node));
  if (value == values_.end()) return errors::NotFound("Variable '", VariableNameOf(*node), "' has no value");
  const bool is_resource = node->op() == "VarHandleOp";
  Become("Const", node);
  SetNodeAttr("dtype", value->second.dtype(), node);
  SetNodeAttr("value", value->second, node);
  node->mutable_attr()->erase("_output_shapes");
  Rename(*node, is_resource ? "resource" : "ref", "output", body);
  if (is_resource) {
    body->Add(body->naming.Output(node->name(), "resource", 0), value->second.dtype());
    if (body->naming.in_function()) body->Add(body->naming.Output(node->name(), "output", 0), value->second.dtype());
  }
  body->done.insert(node->name());
  return absl::OkStatus();
}

// `type` is that of the variable, the node's first input.
absl::Status Freezer::FreezeReader(NodeDef* node, DataType type, Body* body) {
  const std::string op = node->op();
  const auto attr = [&](const char* name) { return node->attr().contains(name) ? node->attr().at(name) : AttrValue(); };
  const AttrValue indices = attr("Tindices"), out_type = attr("out_type"), batch_dims = attr("batch_dims");
  body->done.insert(node->name());
  if (op == "ReadVariableOp") {
    Become("Identity", node);
    SetNodeAttr("T", type, node);
    Rename(*node, "value", "output", body);
  } else if (op == "ResourceGather") {
    NodeDef& axis = body->added.emplace_back();
    axis.set_name(absl::StrCat(node->name(), "/frozen_axis"));
    axis.set_op("Const");
    SetNodeAttr("dtype", DT_INT32, &axis);
    SetNodeAttr("value", Tensor::Scalar<int32_t>(static_cast<int32_t>(batch_dims.i())), &axis);
    Become("GatherV2", node);
    SetNodeAttr("Tparams", type, node);
    (*node->mutable_attr())["Tindices"] = indices;
    SetNodeAttr("Taxis", DT_INT32, node);
    SetNodeAttr("batch_dims", batch_dims.i(), node);
    const std::string axis_input = body->naming.Output(axis.name(), "output", 0);
    node->add_input(axis_input);
    for (int i = node->input_size() - 1; i > 2; --i) node->mutable_input()->SwapElements(i, i - 1);
  } else if (op == "ResourceGatherNd") {
    Become("GatherNd", node);
    SetNodeAttr("Tparams", type, node);
    (*node->mutable_attr())["Tindices"] = indices;
  } else if (op == "VariableShape") {
    Become("Shape", node);
    SetNodeAttr("T", type, node);
    if (out_type.type() != tensorflow::DT_INVALID) (*node->mutable_attr())["out_type"] = out_type;
  } else if (op == "VarIsInitializedOp") {
    Become("Const", node);
    SetNodeAttr("dtype", DT_BOOL, node);
    SetNodeAttr("value", Tensor::Scalar<bool>(true), node);
    node->mutable_input()->DeleteSubrange(0, 1);
    Rename(*node, "is_initialized", "output", body);
  } else if (op == "DisableCopyOnRead") {
    Become("NoOp", node);
    node->mutable_input()->DeleteSubrange(0, 1);
  } else {
    return errors::InvalidArgument("Node '", node->name(), "', a ", op,
                                   ", does not only read its variable, so the model cannot be frozen");
  }
  return absl::OkStatus();
}

absl::Status Freezer::FreezeNode(NodeDef* node, Body* body, int depth) {
  const FrozenTypes frozen = FrozenInputs(*node, 0, *body);
  if (frozen.empty()) return absl::OkStatus();
  const std::string& op = node->op();
  const DataType type = frozen.begin()->second;
  const auto pass_on = [&](const std::vector<const char*>& outputs) {
    SetNodeAttr("T", type, node);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const int index = body->naming.in_function() ? 0 : static_cast<int>(i);
      body->Add(body->naming.Output(node->name(), outputs[i], index), type);
    }
    return absl::OkStatus();
  };
  // Values and resources pass these unchanged.
  if (op == "Identity" || op == "Enter" || op == "Exit" || op == "NextIteration") return pass_on({"output"});
  if (op == "Switch") return pass_on({"output_false", "output_true"});
  if (op == "Merge") {
    SetNodeAttr("T", type, node);
    body->Add(body->naming.Output(node->name(), "output", 0), type);
    return absl::OkStatus();
  }
  if (op == "PartitionedCall" || op == "StatefulPartitionedCall")
    return FreezeCall(node, 0, "Tin", "Tout", body, depth);
  if (op == "While" || op == "StatelessWhile") return FreezeCall(node, 0, "T", "T", body, depth);
  if (op == "If" || op == "StatelessIf" || op == "Case" || op == "StatelessCase") {
    return FreezeCall(node, 1, "Tin", "Tout", body, depth);
  }
  if (functions_.count(op) > 0) return FreezeDirectCall(node, body, depth);
  return FreezeReader(node, type, body);
}

absl::Status Freezer::FreezeCall(NodeDef* node, int first, const std::string& types, const std::string& results,
                                 Body* body, int depth) {
  const FrozenTypes arguments = FrozenInputs(*node, first, *body);
  Call& call = body->calls.emplace(node->name(), Call{.original = *node}).first->second;
  if (call.arguments == arguments) return absl::OkStatus();
  call.arguments = arguments;
  *node = call.original;
  SetTypes(types, arguments, node);
  FrozenTypes outputs = types == results ? arguments : FrozenTypes();
  for (const char* name : {"f", "cond", "body", "then_branch", "else_branch", "branches"}) {
    const auto attr = node->mutable_attr()->find(name);
    if (attr == node->mutable_attr()->end()) continue;
    FrozenTypes condition;  // is no result of the call
    FrozenTypes* const returned = absl::string_view(name) == "cond" ? &condition : &outputs;
    if (attr->second.has_func()) {
      RETURN_IF_ERROR(Specialise(attr->second.mutable_func(), arguments, depth, returned));
    } else {
      for (NameAttrList& function : *attr->second.mutable_list()->mutable_func()) {
        RETURN_IF_ERROR(Specialise(&function, arguments, depth, returned));
      }
    }
  }
  SetTypes(results, outputs, node);
  for (const auto& [i, type] : outputs) body->Add(body->naming.Output(node->name(), "output", i), type);
  body->changed = true;
  return absl::OkStatus();
}

absl::Status Freezer::FreezeDirectCall(NodeDef* node, Body* body, int depth) {
  const FunctionDef& function = functions_.at(node->op());
  ASSIGN_OR_RETURN(const Specialised copy, Copy(node->op(), FrozenInputs(*node, 0, *body), depth));
  for (const auto& [i, type] : copy.results) {
    const std::string arg = function.signature().output_arg(i).name();
    body->Add(body->naming.Output(node->name(), arg, body->naming.in_function() ? 0 : i), type);
  }
  node->set_op(copy.name);
  body->done.insert(node->name());
  body->changed = true;
  return absl::OkStatus();
}

absl::Status Freezer::Specialise(NameAttrList* function, const FrozenTypes& arguments, int depth,
                                 FrozenTypes* results) {
  ASSIGN_OR_RETURN(const Specialised copy, Copy(function->name(), arguments, depth));
  function->set_name(copy.name);
  results->insert(copy.results.begin(), copy.results.end());
  return absl::OkStatus();
}

absl::StatusOr<Freezer::Specialised> Freezer::Copy(const std::string& name, const FrozenTypes& arguments, int depth) {
  if (const auto known = copies_.find({name, arguments}); known != copies_.end()) return known->second;
  const auto original = functions_.find(name);
  if (original == functions_.end()) return errors::NotFound("The graph has no function '", name, "'");
  FunctionDef function = original->second;
  Specialised copy{.name = absl::StrCat(name, "_frozen_", copies_.size())};
  auto* const signature = function.mutable_signature();
  signature->set_name(copy.name);
  function.clear_resource_arg_unique_id();
  Body body(Naming(true), function.mutable_node_def());
  for (const auto& [i, type] : arguments) {
    if (i >= signature->input_arg_size() || signature->input_arg(i).type() != tensorflow::DT_RESOURCE) {
      return errors::InvalidArgument("Argument ", i, " of function '", name, "' is no variable");
    }
    signature->mutable_input_arg(i)->set_type(static_cast<tensorflow::DataType>(type));
    signature->mutable_input_arg(i)->clear_handle_data();
    function.mutable_arg_attr()->erase(i);
    body.Add(signature->input_arg(i).name(), type);
  }
  absl::Status frozen = Freeze(&body, depth + 1);
  if (!frozen.ok()) return Annotate(frozen, absl::StrCat("Function '", name, "'"));
  for (int i = 0; i < signature->output_arg_size(); ++i) {
    std::string& value = (*function.mutable_ret())[signature->output_arg(i).name()];
    if (const DataType* type = body.Find(value); type != nullptr) {
      signature->mutable_output_arg(i)->set_type(static_cast<tensorflow::DataType>(*type));
      signature->mutable_output_arg(i)->clear_handle_data();
      copy.results[i] = *type;
    }
    if (const auto renamed = body.renamed.find(value); renamed != body.renamed.end()) value = renamed->second;
  }
  added_.push_back(std::move(function));
  return copies_.emplace(std::make_pair(name, arguments), copy).first->second;
}

}  // namespace

absl::Status FreezeVariables(const std::map<std::string, Tensor>& values, GraphDef* graph) {
  return Freezer(values, graph).Run();
}

bool RemoveVariableWrites(const std::string& init_op, GraphDef* graph) {
  absl::flat_hash_map<std::string, NodeDef*> nodes;
  for (NodeDef& node : *graph->mutable_node()) nodes.emplace(node.name(), &node);
  std::vector<std::string> waiting = {init_op};
  std::set<std::string> seen = {init_op};
  bool stays = false;
  while (!waiting.empty()) {
    const auto found = nodes.find(waiting.back());
    waiting.pop_back();
    if (found == nodes.end()) continue;
    NodeDef& node = *found->second;
    stays |= node.op() != "NoOp";
    std::vector<std::string> kept;
    for (const std::string& input : node.input()) {
      const std::optional<InputRef> ref = ParseInputRef(input);
      const auto source = ref.has_value() ? nodes.find(ref->node) : nodes.end();
      if (source != nodes.end() && ref->output == Edge::kControlSlot &&
          absl::StartsWith(source->second->op(), "Assign")) {
        continue;
      }
      kept.push_back(input);
      if (source != nodes.end() && seen.insert(source->first).second) waiting.push_back(source->first);
    }
    node.mutable_input()->Clear();
    for (const std::string& input : kept) node.add_input(input);
  }
  return stays;
}

}  // namespace weir
