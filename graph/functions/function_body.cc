#include "graph/functions/function_body.h"

#include <algorithm>
#include <set>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "core/op/attr_value.h"
#include "graph/graph_import.h"
#include "tensorflow/core/framework/function.pb.h"
#include "tensorflow/core/framework/op_def.pb.h"

namespace weir {
namespace {

using tensorflow::AttrValue;
using tensorflow::FunctionDef;
using tensorflow::GraphDef;
using tensorflow::NameAttrList;
using tensorflow::NodeDef;
using tensorflow::OpDef;

// Attributes contain functions with attributes; real graphs nest them a few levels deep.
constexpr int kMaxAttrDepth = 32;
// If a function takes a function attribute and uses it twice, the attributes grow with each call.
constexpr size_t kMaxNestedAttrBytes = 1 << 20;

// Substitutes the caller's attributes for the placeholders of a node of the body.
class Substitution {
 public:
  // `nested_bytes` counts what substitution has added to function attributes, in all nodes of the body.
  Substitution(const AttrMap& attrs, size_t* nested_bytes) : attrs_(attrs), nested_bytes_(*nested_bytes) {}

  absl::Status In(AttrValue* value, int depth = 0) {
    if (depth > kMaxAttrDepth) return errors::InvalidArgument("attributes are nested too deeply");
    if (value->value_case() == AttrValue::kPlaceholder) return Replace(value, depth);
    if (value->value_case() == AttrValue::kFunc) return In(value->mutable_func(), depth);
    if (value->value_case() != AttrValue::kList) return absl::OkStatus();
    for (NameAttrList& function : *value->mutable_list()->mutable_func()) RETURN_IF_ERROR(In(&function, depth));
    return absl::OkStatus();
  }

 private:
  absl::Status In(NameAttrList* function, int depth) {
    for (auto& [name, value] : *function->mutable_attr()) RETURN_IF_ERROR(In(&value, depth + 1));
    return absl::OkStatus();
  }

  absl::Status Replace(AttrValue* value, int depth) {
    auto it = attrs_.find(value->placeholder());
    if (it == attrs_.end()) {
      return errors::InvalidArgument("Attr ", value->placeholder(), " is not found from the call's attributes");
    }
    if (depth > 0) nested_bytes_ += it->second.ByteSizeLong();
    if (nested_bytes_ > kMaxNestedAttrBytes) {
      return errors::ResourceExhausted("Attributes of functions that are attributes take more than ",
                                       kMaxNestedAttrBytes, " bytes; a recursion in which they grow?");
    }
    *value = it->second;
    return absl::OkStatus();
  }

  const AttrMap& attrs_;
  size_t& nested_bytes_;
};

// Converts a FunctionDef to a GraphDef, in which inputs have the form "node:2" instead of "node:outputs:1".
class BodyBuilder {
 public:
  BodyBuilder(const FunctionDef& function, AttrMap attrs, const OpRegistry& ops, const FunctionLibrary& library)
      : function_(function), attrs_(std::move(attrs)), ops_(ops), library_(library) {}

  absl::Status Build() {
    for (const auto& attr : function_.signature().attr()) {
      if (attr.has_default_value()) attrs_.emplace(attr.name(), attr.default_value());
    }
    for (const NodeDef& node : function_.node_def()) body_nodes_.insert(node.name());
    taken_ = body_nodes_;
    RETURN_IF_ERROR(AddArgs());
    for (const NodeDef& node : function_.node_def()) RETURN_IF_ERROR(AddNode(node));
    for (int i = 0; i < function_.node_def_size(); ++i) {
      RETURN_IF_ERROR(ResolveInputs(function_.node_def(i), def_.mutable_node(first_node_ + i)));
    }
    return AddRets();
  }
  GraphDef& def() { return def_; }
  const std::vector<std::string>& args() const { return args_; }
  const std::vector<std::string>& rets() const { return rets_; }

 private:
  absl::Status AddArgs();
  absl::Status AddNode(const NodeDef& node);
  absl::Status ResolveInputs(const NodeDef& node, NodeDef* resolved) const;
  absl::Status AddRets();
  // The types of one argument of the function itself.
  absl::Status TypesOf(const OpDef::ArgDef& arg, DataTypeVector* types) const;
  // The tensors that `name` refers to: an argument, an output of a node, or one element of either.
  absl::StatusOr<std::vector<std::string>> Resolve(const std::string& name) const;
  std::string FreshName(const std::string& wanted);

  const FunctionDef& function_;
  AttrMap attrs_;
  const OpRegistry& ops_;
  const FunctionLibrary& library_;
  GraphDef def_;
  int first_node_ = 0;
  size_t nested_bytes_ = 0;
  std::set<std::string> body_nodes_, taken_;
  absl::flat_hash_map<std::string, std::vector<std::string>> tensors_;
  absl::flat_hash_map<std::string, std::string> arg_nodes_;  // for control inputs from arguments
  std::vector<std::string> args_, rets_;
};

std::string BodyBuilder::FreshName(const std::string& wanted) {
  std::string name = wanted;
  for (int i = 1; !taken_.insert(name).second; ++i) name = absl::StrCat(wanted, "_", i);
  return name;
}

absl::Status BodyBuilder::TypesOf(const OpDef::ArgDef& arg, DataTypeVector* types) const {
  NodeDef call;
  call.set_name(function_.signature().name());
  for (const auto& [name, value] : attrs_) (*call.mutable_attr())[name] = value;
  return ArgTypes(call, arg, types);
}

absl::Status BodyBuilder::AddArgs() {
  for (int a = 0; a < function_.signature().input_arg_size(); ++a) {
    const OpDef::ArgDef& arg = function_.signature().input_arg(a);
    DataTypeVector types;
    RETURN_IF_ERROR(TypesOf(arg, &types));
    std::vector<std::string>& tensors = tensors_[arg.name()];
    for (size_t i = 0; i < types.size(); ++i) {
      NodeDef* node = def_.add_node();
      node->set_name(FreshName(types.size() == 1 ? arg.name() : absl::StrCat(arg.name(), "_", i)));
      node->set_op("_Arg");
      SetNodeAttr("T", types[i], node);
      SetNodeAttr("index", static_cast<int64_t>(args_.size()), node);
      if (auto it = function_.arg_attr().find(a); it != function_.arg_attr().end()) {
        for (const auto& [name, value] : it->second.attr()) {
          if (absl::StartsWith(name, "_")) node->mutable_attr()->insert({name, value});
        }
      }
      tensors.push_back(node->name());
      args_.push_back(node->name());
      arg_nodes_.emplace(arg.name(), node->name());
    }
  }
  first_node_ = def_.node_size();
  return absl::OkStatus();
}

absl::Status BodyBuilder::AddNode(const NodeDef& node) {
  NodeDef* added = def_.add_node();
  *added = node;
  added->clear_input();
  const OpRegistration* registration = ops_.Find(node.op());
  const OpDef* op = registration != nullptr ? registration->op_def.get() : library_.FindSignature(node.op());
  if (op == nullptr) return ops_.LookUp(node.op()).status();
  if (node.op() == "_Arg" || node.op() == "_Retval") {
    return errors::InvalidArgument("Node '", node.name(), "': a function's body may not have ", node.op());
  }
  for (auto& [name, value] : *added->mutable_attr()) {
    RETURN_IF_ERROR(Annotate(Substitution(attrs_, &nested_bytes_).In(&value),
                             absl::StrCat("Node '", node.name(), "' attr '", name, "'")));
  }
  AddDefaultAttrs(*op, added);
  int output = 0;
  for (const OpDef::ArgDef& arg : op->output_arg()) {
    DataTypeVector types;
    RETURN_IF_ERROR(ArgTypes(*added, arg, &types));
    std::vector<std::string>& tensors = tensors_[absl::StrCat(node.name(), ":", arg.name())];
    for (size_t i = 0; i < types.size(); ++i) tensors.push_back(absl::StrCat(node.name(), ":", output++));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> BodyBuilder::Resolve(const std::string& name) const {
  if (auto it = tensors_.find(name); it != tensors_.end()) return it->second;
  const size_t colon = name.rfind(':');
  int index = -1;
  if (colon != std::string::npos && absl::SimpleAtoi(name.substr(colon + 1), &index) && index >= 0) {
    auto it = tensors_.find(name.substr(0, colon));
    if (it != tensors_.end() && index < static_cast<int>(it->second.size())) {
      return std::vector<std::string>{it->second[index]};
    }
  }
  return errors::InvalidArgument("input ", name, " is not found: it is neither an argument of the function nor an ",
                                 "output of a node in it");
}

absl::Status BodyBuilder::ResolveInputs(const NodeDef& node, NodeDef* resolved) const {
  for (const std::string& input : node.input()) {
    if (absl::StartsWith(input, "^")) {
      const std::string name = input.substr(1);
      auto arg = arg_nodes_.find(name);
      if (arg == arg_nodes_.end() && body_nodes_.count(name) == 0) {
        return errors::InvalidArgument("Node '", node.name(), "': control input ", input, " is not found");
      }
      resolved->add_input(arg == arg_nodes_.end() ? input : absl::StrCat("^", arg->second));
      continue;
    }
    auto tensors = Resolve(input);
    if (!tensors.ok()) return Annotate(tensors.status(), absl::StrCat("Node '", node.name(), "'"));
    for (const std::string& tensor : *tensors) resolved->add_input(tensor);
  }
  return absl::OkStatus();
}

absl::Status BodyBuilder::AddRets() {
  for (const OpDef::ArgDef& arg : function_.signature().output_arg()) {
    auto source = function_.ret().find(arg.name());
    if (source == function_.ret().end()) return errors::InvalidArgument("Return ", arg.name(), " missing.");
    DataTypeVector types;
    RETURN_IF_ERROR(TypesOf(arg, &types));
    auto tensors = Resolve(source->second);
    if (!tensors.ok()) return Annotate(tensors.status(), absl::StrCat("Return ", arg.name()));
    if (tensors->size() != types.size()) {
      return errors::InvalidArgument("Return ", arg.name(), " is declared as ", types.size(), " tensors, but ",
                                     source->second, " has ", tensors->size());
    }
    for (size_t i = 0; i < types.size(); ++i) {
      NodeDef* node = def_.add_node();
      node->set_name(FreshName(absl::StrCat(arg.name(), types.size() == 1 ? "" : absl::StrCat("_", i), "_RetVal")));
      node->set_op("_Retval");
      node->add_input((*tensors)[i]);
      SetNodeAttr("T", types[i], node);
      SetNodeAttr("index", static_cast<int64_t>(rets_.size()), node);
      rets_.push_back(node->name());
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FunctionBody> InstantiateFunction(const FunctionDef& function, const AttrMap& attrs,
                                                 const OpRegistry& ops, const FunctionLibrary& library) {
  const std::string context = absl::StrCat("Function '", function.signature().name(), "'");
  BodyBuilder builder(function, attrs, ops, library);
  RETURN_IF_ERROR(Annotate(builder.Build(), context));
  FunctionBody body;
  body.graph = std::make_unique<Graph>(&ops);
  *body.graph->mutable_functions() = library;
  ImportOptions import;
  import.allow_internal_ops = true;
  import.from_any_producer = true;
  RETURN_IF_ERROR(Annotate(ImportGraphDef(import, std::move(builder.def()), body.graph.get()), context));
  for (const std::string& name : builder.args()) {
    body.args.push_back(body.graph->FindNode(name));
    body.arg_types.push_back(body.args.back()->output_type(0));
  }
  for (const std::string& name : builder.rets()) {
    body.rets.push_back(body.graph->FindNode(name));
    body.ret_types.push_back(body.rets.back()->input_type(0));
  }
  for (const auto& [output, name] : function.control_ret()) {
    Node* node = body.graph->FindNode(name);
    if (node == nullptr) {
      return errors::InvalidArgument(context, ": control output ", output, " refers to unknown node '", name, "'");
    }
    body.control_rets.push_back(node);
  }
  return body;
}

NameAttrList CalledFunction(const Node& node) {
  NameAttrList function;
  if (node.registration() == nullptr) {
    function.set_name(node.op());
    *function.mutable_attr() = node.def().attr();
  } else if (node.op() == "PartitionedCall" || node.op() == "StatefulPartitionedCall") {
    if (const AttrValue* f = FindAttr(node.def(), "f"); f != nullptr) function = f->func();
  }
  return function;
}

}  // namespace weir
