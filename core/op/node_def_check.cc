// Validates NodeDefs against their OpDef.
#include <algorithm>
#include <map>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "core/op/attr_value.h"
#include "core/op/op_spec.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/op_def.pb.h"

namespace weir {
namespace {

using tensorflow::AttrValue;
using tensorflow::NodeDef;
using tensorflow::OpDef;

// A node with more tensors than this is malformed; checked before a list is expanded.
constexpr int64_t kMaxTensorsPerArg = 1 << 20;

std::string Where(const NodeDef& node, const OpDef& op_def) {
  return absl::StrCat("; ", SummarizeOpDef(op_def), "; NodeDef: ", SummarizeNodeDef(node));
}

absl::Status CheckMinimum(const AttrValue& value, const OpDef::AttrDef& attr_def) {
  if (!attr_def.has_minimum()) return absl::OkStatus();
  if (attr_def.type() == "int") {
    if (value.i() >= attr_def.minimum()) return absl::OkStatus();
    return errors::InvalidArgument("Value for attr '", attr_def.name(), "' of ", value.i(),
                                   " must be at least minimum ", attr_def.minimum());
  }
  const AttrValue::ListValue& list = value.list();
  const int64_t length = list.s_size() + list.i_size() + list.f_size() + list.b_size() + list.type_size() +
                         list.shape_size() + list.tensor_size() + list.func_size();
  if (length >= attr_def.minimum()) return absl::OkStatus();
  return errors::InvalidArgument("Length for attr '", attr_def.name(), "' of ", length, " must be at least minimum ",
                                 attr_def.minimum());
}

template <typename V, typename Allowed>
bool Contains(const Allowed& allowed, const V& value) {
  return std::find(allowed.begin(), allowed.end(), value) != allowed.end();
}

absl::Status NotAllowed(absl::string_view value, const OpDef::AttrDef& attr_def) {
  std::vector<std::string> allowed;
  for (int type : attr_def.allowed_values().list().type()) allowed.push_back(DataTypeName(static_cast<DataType>(type)));
  for (const std::string& s : attr_def.allowed_values().list().s()) allowed.push_back(absl::StrCat("\"", s, "\""));
  return errors::InvalidArgument("Value for attr '", attr_def.name(), "' of ", value,
                                 " is not in the list of allowed values: ", absl::StrJoin(allowed, ", "));
}

absl::Status CheckAllowed(const AttrValue& value, const OpDef::AttrDef& attr_def) {
  if (!attr_def.has_allowed_values()) return absl::OkStatus();
  const AttrValue::ListValue& allowed = attr_def.allowed_values().list();
  auto check_type = [&](int type) {
    const std::string name = DataTypeName(static_cast<DataType>(type));
    return Contains(allowed.type(), type) ? absl::OkStatus() : NotAllowed(name, attr_def);
  };
  auto check_string = [&](const std::string& s) {
    return Contains(allowed.s(), s) ? absl::OkStatus() : NotAllowed(absl::StrCat("\"", s, "\""), attr_def);
  };
  if (value.value_case() == AttrValue::kType) return check_type(value.type());
  if (value.value_case() == AttrValue::kS) return check_string(value.s());
  for (int type : value.list().type()) RETURN_IF_ERROR(check_type(type));
  for (const std::string& s : value.list().s()) RETURN_IF_ERROR(check_string(s));
  return absl::OkStatus();
}

// "name" or "name:2"; "^name" for control inputs.
bool IsInputName(absl::string_view input) {
  absl::ConsumePrefix(&input, "^");
  if (input.empty() || !(absl::ascii_isalnum(input[0]) || input[0] == '.' || input[0] == '_')) return false;
  return std::all_of(input.begin(), input.end(), [](char c) {
    return absl::ascii_isalnum(c) || absl::StrContains("_.-/>:\\", absl::string_view(&c, 1));
  });
}

absl::Status CheckInputNames(const NodeDef& node, int* num_data_inputs) {
  bool seen_control = false;
  *num_data_inputs = 0;
  for (const std::string& input : node.input()) {
    const bool control = absl::StartsWith(input, "^");
    if (!IsInputName(input)) {
      return errors::InvalidArgument("Illegal op input name '", input, "'; NodeDef: ", SummarizeNodeDef(node));
    }
    if (seen_control && !control) {
      return errors::InvalidArgument("Non-control input '", input,
                                     "' after control input in NodeDef: ", SummarizeNodeDef(node));
    }
    seen_control |= control;
    *num_data_inputs += !control;
  }
  return absl::OkStatus();
}

absl::Status ExpandArgs(const NodeDef& node, const google::protobuf::RepeatedPtrField<OpDef::ArgDef>& args,
                        DataTypeVector* types) {
  types->clear();
  for (const OpDef::ArgDef& arg : args) {
    DataTypeVector expanded;
    RETURN_IF_ERROR(ArgTypes(node, arg, &expanded));
    types->insert(types->end(), expanded.begin(), expanded.end());
  }
  return absl::OkStatus();
}

}  // namespace

std::string SummarizeNodeDef(const NodeDef& node) {
  std::map<std::string, std::string> attrs;
  for (const auto& [name, value] : node.attr()) attrs[name] = AttrValueToString(value);
  std::string out = absl::StrCat("{{node ", node.name(), "}} = ", node.op(), "[",
                                 absl::StrJoin(attrs, ", ", absl::PairFormatter("=")), "]");
  if (!node.device().empty()) absl::StrAppend(&out, " device=", node.device());
  return absl::StrCat(out, "(", absl::StrJoin(node.input(), ", "), ")");
}

absl::Status ValidateAttrValue(const AttrValue& value, const OpDef::AttrDef& attr_def) {
  absl::Status status = CheckAttrType(value, attr_def.type());
  if (!status.ok()) return errors::InvalidArgument(status.message(), "\n\t for attr '", attr_def.name(), "'");
  RETURN_IF_ERROR(CheckMinimum(value, attr_def));
  return CheckAllowed(value, attr_def);
}

void AddDefaultAttrs(const OpDef& op_def, NodeDef* node) {
  for (const OpDef::AttrDef& attr_def : op_def.attr()) {
    if (attr_def.has_default_value()) node->mutable_attr()->insert({attr_def.name(), attr_def.default_value()});
  }
}

absl::Status ArgTypes(const NodeDef& node, const OpDef::ArgDef& arg, DataTypeVector* types) {
  types->clear();
  if (!arg.type_list_attr().empty()) {
    RETURN_IF_ERROR(GetNodeAttr(node, arg.type_list_attr(), types));
  } else {
    DataType type = static_cast<DataType>(arg.type());
    int64_t count = 1;
    if (!arg.type_attr().empty()) RETURN_IF_ERROR(GetNodeAttr(node, arg.type_attr(), &type));
    if (!arg.number_attr().empty()) RETURN_IF_ERROR(GetNodeAttr(node, arg.number_attr(), &count));
    if (count < 0 || count > kMaxTensorsPerArg) {
      return errors::InvalidArgument("Value for number_attr() ", count, " of argument '", arg.name(), "' of node '",
                                     node.name(), "' is not between 0 and ", kMaxTensorsPerArg);
    }
    types->assign(static_cast<size_t>(count), type);
  }
  if (arg.is_ref()) {
    for (DataType& type : *types) type = MakeRef(type);
  }
  return absl::OkStatus();
}

absl::Status InOutTypesForNode(const NodeDef& node, const OpDef& op_def, DataTypeVector* inputs,
                               DataTypeVector* outputs) {
  RETURN_IF_ERROR(ExpandArgs(node, op_def.input_arg(), inputs));
  return ExpandArgs(node, op_def.output_arg(), outputs);
}

absl::Status ValidateNodeAttrs(const NodeDef& node, const OpDef& op_def) {
  std::vector<std::string> missing;
  absl::flat_hash_set<absl::string_view> known;
  for (const OpDef::AttrDef& attr_def : op_def.attr()) {
    known.insert(attr_def.name());
    const AttrValue* value = FindAttr(node, attr_def.name());
    if (value == nullptr) {
      missing.push_back(absl::StrCat("'", attr_def.name(), "'"));
      continue;
    }
    if (value->value_case() == AttrValue::kPlaceholder) continue;  // a function's body before it is instantiated
    absl::Status status = ValidateAttrValue(*value, attr_def);
    if (!status.ok()) return errors::InvalidArgument(status.message(), Where(node, op_def));
  }
  if (!missing.empty()) {
    return errors::InvalidArgument("NodeDef missing attr", missing.size() > 1 ? "s " : " ",
                                   absl::StrJoin(missing, ", "), " from ", SummarizeOpDef(op_def),
                                   "; NodeDef: ", SummarizeNodeDef(node));
  }
  for (const auto& [name, value] : node.attr()) {
    if (absl::StartsWith(name, "_") || known.contains(name)) continue;
    return errors::InvalidArgument("NodeDef mentions attr '", name, "' not in ", SummarizeOpDef(op_def),
                                   "; NodeDef: ", SummarizeNodeDef(node),
                                   ". (Check whether your GraphDef-interpreting binary is up to "
                                   "date with your GraphDef-generating binary.)");
  }
  return absl::OkStatus();
}

absl::Status ValidateNodeDef(const NodeDef& node, const OpDef& op_def) {
  if (node.op() != op_def.name()) {
    return errors::InvalidArgument("NodeDef op '", node.op(), "' does not match ", SummarizeOpDef(op_def),
                                   "; NodeDef: ", SummarizeNodeDef(node));
  }
  int num_inputs = 0;
  RETURN_IF_ERROR(CheckInputNames(node, &num_inputs));
  RETURN_IF_ERROR(ValidateNodeAttrs(node, op_def));
  if (std::any_of(node.attr().begin(), node.attr().end(),
                  [](const auto& attr) { return attr.second.value_case() == AttrValue::kPlaceholder; })) {
    return absl::OkStatus();  // types are not known yet
  }
  DataTypeVector inputs, outputs;
  RETURN_IF_ERROR(InOutTypesForNode(node, op_def, &inputs, &outputs));
  if (num_inputs != static_cast<int>(inputs.size())) {
    return errors::InvalidArgument("NodeDef expected inputs '", DataTypeListName(inputs), "' do not match ", num_inputs,
                                   " inputs specified", Where(node, op_def));
  }
  return absl::OkStatus();
}

}  // namespace weir
