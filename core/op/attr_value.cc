// Reading, writing, comparing, printing and parsing attribute values. node_def_check.cc checks them against an OpDef.
#include "core/op/attr_value.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include "absl/hash/hash.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "core/tensor/tensor_proto.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/node_def.pb.h"
#include "tensorflow/core/framework/tensor.pb.h"
#include "tensorflow/core/framework/tensor_shape.pb.h"

namespace weir {
namespace {

using tensorflow::AttrValue;
using tensorflow::NameAttrList;

// Map entries in key order: equal values serialise equally.
std::string Canonical(const AttrValue& value) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream out(&stream);
    out.SetSerializationDeterministic(true);
    value.SerializeToCodedStream(&out);
  }
  return bytes;
}

template <typename Values, typename Print>
std::string PrintList(const Values& values, Print print) {
  std::string out = "[";
  int i = 0;
  for (const auto& value : values) {
    if (i == 16) {
      absl::StrAppend(&out, ", ...", values.size() - i, " more");
      break;
    }
    absl::StrAppend(&out, i++ == 0 ? "" : ", ", print(value));
  }
  return absl::StrCat(out, "]");
}

std::string PrintString(const std::string& s) { return absl::StrCat("\"", absl::CHexEscape(s), "\""); }
std::string PrintInt(int64_t v) { return absl::StrCat(v); }
std::string PrintFloat(float v) { return absl::StrCat(v); }
std::string PrintBool(bool v) { return v ? "true" : "false"; }
std::string PrintType(int type) {
  const tensorflow::DataType value = static_cast<tensorflow::DataType>(type);
  return tensorflow::DataType_IsValid(type) ? tensorflow::DataType_Name(value) : absl::StrCat(type);
}
std::string PrintShape(const tensorflow::TensorShapeProto& proto) {
  auto shape = PartialTensorShape::FromProto(proto);
  return shape.ok() ? shape->ToString() : "<invalid shape>";
}
std::string PrintTensor(const tensorflow::TensorProto& proto) {
  auto tensor = TensorFromProto(proto, CpuAllocator(), int64_t{1} << 20);
  return tensor.ok() ? absl::StrCat("Tensor<", tensor->DebugString(), ">")
                     : absl::StrCat("Tensor<", PrintType(proto.dtype()), PrintShape(proto.tensor_shape()), ">");
}
std::string PrintFunc(const NameAttrList& func) {
  std::vector<std::string> attrs;
  for (const auto& [name, value] : func.attr()) attrs.push_back(absl::StrCat(name, "=", AttrValueToString(value)));
  std::sort(attrs.begin(), attrs.end());
  return absl::StrCat(func.name(), "[", absl::StrJoin(attrs, ", "), "]");
}

std::string PrintListValue(const AttrValue::ListValue& list) {
  if (list.s_size() > 0) return PrintList(list.s(), PrintString);
  if (list.i_size() > 0) return PrintList(list.i(), PrintInt);
  if (list.f_size() > 0) return PrintList(list.f(), PrintFloat);
  if (list.b_size() > 0) return PrintList(list.b(), PrintBool);
  if (list.type_size() > 0) return PrintList(list.type(), PrintType);
  if (list.shape_size() > 0) return PrintList(list.shape(), PrintShape);
  if (list.tensor_size() > 0) return PrintList(list.tensor(), PrintTensor);
  if (list.func_size() > 0) return PrintList(list.func(), PrintFunc);
  return "[]";
}

// The attr type of `value`, except for empty lists, which match any list type.
std::string TypeOfList(const AttrValue::ListValue& list) {
  std::vector<std::string> types;
  if (list.s_size() > 0) types.push_back("list(string)");
  if (list.i_size() > 0) types.push_back("list(int)");
  if (list.f_size() > 0) types.push_back("list(float)");
  if (list.b_size() > 0) types.push_back("list(bool)");
  if (list.type_size() > 0) types.push_back("list(type)");
  if (list.shape_size() > 0) types.push_back("list(shape)");
  if (list.tensor_size() > 0) types.push_back("list(tensor)");
  if (list.func_size() > 0) types.push_back("list(func)");
  return types.empty() ? "list" : absl::StrJoin(types, " and ");
}

std::string TypeOf(const AttrValue& value) {
  switch (value.value_case()) {
    case AttrValue::kS:
      return "string";
    case AttrValue::kI:
      return "int";
    case AttrValue::kF:
      return "float";
    case AttrValue::kB:
      return "bool";
    case AttrValue::kType:
      return "type";
    case AttrValue::kShape:
      return "shape";
    case AttrValue::kTensor:
      return "tensor";
    case AttrValue::kFunc:
      return "func";
    case AttrValue::kPlaceholder:
      return "placeholder";
    case AttrValue::kList:
      return TypeOfList(value.list());
    case AttrValue::VALUE_NOT_SET:
      return "";
  }
  return "";
}

absl::Status CheckType(int type) {
  if (IsValidDataType(RemoveRef(static_cast<DataType>(type)))) return absl::OkStatus();
  return errors::InvalidArgument("AttrValue has invalid DataType enum: ", type);
}

class SilentErrors : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (first_.empty()) first_ = message;
  }
  const std::string& first() const { return first_; }

 private:
  std::string first_;
};

// The field of AttrValue (or of its list) for attr type `type`.
absl::string_view FieldFor(absl::string_view type) {
  if (type == "string") return "s";
  if (type == "int") return "i";
  if (type == "float") return "f";
  if (type == "bool") return "b";
  if (type == "type" || type == "shape" || type == "tensor" || type == "func") return type;
  return "";
}

// Types may be spelled "float" or "DT_FLOAT".
std::string SpellTypes(absl::string_view text) {
  std::string out, word;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && (absl::ascii_isalnum(text[i]) || text[i] == '_')) {
      word += text[i];
      continue;
    }
    const std::optional<DataType> type = word.empty() ? std::nullopt : ParseDataType(word);
    absl::StrAppend(&out, type ? PrintType(*type) : word);
    word.clear();
    if (i < text.size()) out += text[i];
  }
  return out;
}

}  // namespace

const AttrValue* FindAttr(const tensorflow::NodeDef& node, absl::string_view name) {
  auto it = node.attr().find(std::string(name));
  return it == node.attr().end() ? nullptr : &it->second;
}

bool AttrValuesEqual(const AttrValue& a, const AttrValue& b) { return Canonical(a) == Canonical(b); }

uint64_t HashAttrValue(const AttrValue& value) { return absl::Hash<std::string>()(Canonical(value)); }

std::string AttrValueToString(const AttrValue& value) {
  switch (value.value_case()) {
    case AttrValue::kS:
      return PrintString(value.s());
    case AttrValue::kI:
      return PrintInt(value.i());
    case AttrValue::kF:
      return PrintFloat(value.f());
    case AttrValue::kB:
      return PrintBool(value.b());
    case AttrValue::kType:
      return PrintType(value.type());
    case AttrValue::kShape:
      return PrintShape(value.shape());
    case AttrValue::kTensor:
      return PrintTensor(value.tensor());
    case AttrValue::kFunc:
      return PrintFunc(value.func());
    case AttrValue::kPlaceholder:
      return absl::StrCat("$", value.placeholder());
    case AttrValue::kList:
      return PrintListValue(value.list());
    case AttrValue::VALUE_NOT_SET:
      return "<unset>";
  }
  return "<unknown>";
}

absl::Status CheckAttrType(const AttrValue& value, absl::string_view type) {
  const std::string actual = TypeOf(value);
  const bool empty_list = actual == "list" && absl::StartsWith(type, "list(");
  if (type != "any" && actual != type && !empty_list) {
    if (actual.empty()) {
      return errors::InvalidArgument("AttrValue missing value with expected type '", type, "'");
    }
    return errors::InvalidArgument("AttrValue had value with type '", actual, "' when '", type, "' expected");
  }
  if (value.value_case() == AttrValue::kType) return CheckType(value.type());
  for (int t : value.list().type()) RETURN_IF_ERROR(CheckType(t));
  if (value.value_case() == AttrValue::kShape) return PartialTensorShape::FromProto(value.shape()).status();
  for (const auto& shape : value.list().shape()) RETURN_IF_ERROR(PartialTensorShape::FromProto(shape).status());
  return absl::OkStatus();
}

absl::Status ParseAttrValue(absl::string_view type, absl::string_view text, AttrValue* out) {
  absl::string_view element = type;
  const bool is_list = absl::ConsumePrefix(&element, "list(") && absl::ConsumeSuffix(&element, ")");
  const absl::string_view field = FieldFor(element);
  text = absl::StripAsciiWhitespace(text);
  out->Clear();
  if (field.empty()) return errors::InvalidArgument("Unknown attr type '", type, "'");
  std::string spelled = element == "type" ? SpellTypes(text) : std::string(text);
  if (is_list) {
    if (!absl::StartsWith(text, "[") || !absl::EndsWith(text, "]")) {
      return errors::InvalidArgument("A value of type ", type, " must be in brackets: ", text);
    }
    const bool empty = absl::StripAsciiWhitespace(text.substr(1, text.size() - 2)).empty();
    spelled = empty ? "list { }" : absl::StrCat("list { ", field, ": ", spelled, " }");
  } else {
    spelled = absl::StrCat(field, ": ", spelled);
  }
  SilentErrors parse_errors;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&parse_errors);
  parser.SetRecursionLimit(64);
  if (!parser.ParseFromString(spelled, out)) {
    out->Clear();
    return errors::InvalidArgument("Cannot read \"", text, "\" as a value of type ", type, ": ", parse_errors.first());
  }
  return CheckAttrType(*out, type);
}

}  // namespace weir
