#include "client/gen/op_wrapper_writer.h"

#include <algorithm>
#include <cmath>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "core/tensor/tensor_shape.h"
#include "core/tensor/types.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/op_def.pb.h"

namespace weir {
namespace {

using AttrDef = tensorflow::OpDef_AttrDef;
using ArgDef = tensorflow::OpDef_ArgDef;

std::string Identifier(const std::string& name) {
  static const auto* kKeywords = new absl::flat_hash_set<std::string>{
      "and",       "bool",   "case",     "class",    "const",   "default",  "delete",    "do",     "double",
      "else",      "enum",   "explicit", "export",   "false",   "float",    "for",       "if",     "int",
      "namespace", "new",    "not",      "operator", "or",      "private",  "protected", "public", "return",
      "scope",     "signed", "static",   "struct",   "switch",  "template", "this",      "true",   "type",
      "typename",  "union",  "unsigned", "using",    "virtual", "void",     "volatile",  "while"};
  return kKeywords->contains(name) ? absl::StrCat(name, "_") : name;
}

bool IsList(const ArgDef& arg) { return !arg.number_attr().empty() || !arg.type_list_attr().empty(); }

// The C++ type of an attribute's value.
std::string CppType(const std::string& attr_type) {
  static const auto* kTypes = new absl::flat_hash_map<std::string, std::string>{
      {"string", "std::string"}, {"int", "int64_t"},      {"float", "float"},
      {"bool", "bool"},          {"type", "DataType"},    {"shape", "PartialTensorShape"},
      {"tensor", "Tensor"},      {"func", "NameAttrList"}};
  absl::string_view element = attr_type;
  const bool is_list = absl::ConsumePrefix(&element, "list(") && absl::ConsumeSuffix(&element, ")");
  const std::string& cpp = kTypes->at(std::string(element));
  if (!is_list) return cpp;
  return element == "type" ? "DataTypeVector" : absl::StrCat("std::vector<", cpp, ">");
}

std::string TypeEnum(int type) {
  return absl::StrCat("DT_", absl::AsciiStrToUpper(DataTypeName(static_cast<DataType>(type))));
}

std::string Float(float value) {
  if (std::isinf(value)) return value > 0 ? "INFINITY" : "-INFINITY";
  std::string text = absl::StrFormat("%.9g", value);
  return absl::StrContains(text, '.') || absl::StrContains(text, 'e') ? text + "f" : text + ".0f";
}

std::string ShapeValue(const tensorflow::TensorShapeProto& shape) {
  if (shape.unknown_rank()) return "PartialTensorShape()";
  std::vector<std::string> dims;
  for (const auto& dim : shape.dim()) dims.push_back(absl::StrCat(dim.size()));
  return absl::StrCat("PartialTensorShape::Build({", absl::StrJoin(dims, ", "), "}).value()");
}

// A default value as a C++ expression.
std::string CppValue(const AttrDef& attr) {
  const auto& value = attr.default_value();
  if (absl::StartsWith(attr.type(), "list(")) {
    std::vector<std::string> elements;
    for (const auto& s : value.list().s()) elements.push_back(absl::StrCat("\"", absl::CEscape(s), "\""));
    for (int64_t i : value.list().i()) elements.push_back(absl::StrCat(i));
    for (float f : value.list().f()) elements.push_back(Float(f));
    for (bool b : value.list().b()) elements.push_back(b ? "true" : "false");
    for (int type : value.list().type()) elements.push_back(TypeEnum(type));
    for (const auto& shape : value.list().shape()) elements.push_back(ShapeValue(shape));
    return absl::StrCat("{", absl::StrJoin(elements, ", "), "}");
  }
  switch (value.value_case()) {
    case tensorflow::AttrValue::kS:
      return absl::StrCat("\"", absl::CEscape(value.s()), "\"");
    case tensorflow::AttrValue::kI:
      return value.i() == INT64_MIN ? "INT64_MIN" : absl::StrCat(value.i());
    case tensorflow::AttrValue::kF:
      return Float(value.f());
    case tensorflow::AttrValue::kB:
      return value.b() ? "true" : "false";
    case tensorflow::AttrValue::kType:
      return TypeEnum(value.type());
    case tensorflow::AttrValue::kShape:
      return ShapeValue(value.shape());
    default:
      return "{}";
  }
}

// The parts of an op's wrapper.
struct Wrapper {
  explicit Wrapper(const tensorflow::OpDef& op) : op(op) {
    absl::flat_hash_set<std::string> inferred;
    for (const ArgDef& arg : op.input_arg()) {
      for (const auto& name : {arg.type_attr(), arg.number_attr(), arg.type_list_attr()}) inferred.insert(name);
    }
    for (const AttrDef& attr : op.attr()) {
      if (inferred.contains(attr.name())) continue;
      (attr.has_default_value() ? optional : required).push_back(&attr);
    }
  }

  std::string attrs_type() const { return absl::StrCat(op.name(), "Attrs"); }
  std::string result_type() const {
    if (op.output_arg_size() == 0) return "Operation";
    if (op.output_arg_size() == 1) return IsList(op.output_arg(0)) ? "OutputList" : "Output";
    return absl::StrCat(op.name(), "Result");
  }
  // Parameters; `declare` adds default arguments.
  std::string Parameters(bool declare) const {
    std::vector<std::string> params = {"const OpScope& scope"};
    for (const ArgDef& arg : op.input_arg()) {
      params.push_back(absl::StrCat(IsList(arg) ? "const InputList& " : "const Input& ", Identifier(arg.name())));
    }
    for (const AttrDef* attr : required) {
      params.push_back(absl::StrCat("const ", CppType(attr->type()), "& ", Identifier(attr->name())));
    }
    if (!optional.empty()) params.push_back(absl::StrCat("const ", attrs_type(), "& attrs", declare ? " = {}" : ""));
    return absl::StrJoin(params, ", ");
  }

  const tensorflow::OpDef& op;
  std::vector<const AttrDef*> required, optional;
};

std::string ArgType(const ArgDef& arg) {
  std::string type = arg.type_attr();
  if (!arg.type_list_attr().empty()) type = absl::StrCat(arg.type_list_attr(), "…");
  if (type.empty()) type = DataTypeName(static_cast<DataType>(arg.type()));
  if (!arg.number_attr().empty()) type = absl::StrCat(arg.number_attr(), " * ", type);
  return arg.is_ref() ? absl::StrCat("Ref(", type, ")") : type;
}

// "// The product of two matrices.
//  // MatMul(a: T, b: T) -> (product: T)
//  //   T: float, …"
std::string Comment(const tensorflow::OpDef& op, const OpDescriptions& descriptions) {
  auto args = [](const auto& list) {
    return absl::StrJoin(
        list, ", ", [](std::string* out, const ArgDef& arg) { absl::StrAppend(out, arg.name(), ": ", ArgType(arg)); });
  };
  std::string text;
  if (const auto found = descriptions.find(op.name()); found != descriptions.end()) {
    for (const std::string& line : found->second) absl::StrAppend(&text, "// ", line, "\n");
  }
  absl::StrAppend(&text, "// ", op.name(), "(", args(op.input_arg()), ") -> (", args(op.output_arg()), ")");
  for (const AttrDef& attr : op.attr()) {
    if (attr.type() != "type" || attr.allowed_values().list().type().empty()) continue;
    absl::StrAppend(&text, "\n//   ", attr.name(), ": ",
                    absl::StrJoin(attr.allowed_values().list().type(), ", ", [](std::string* out, int type) {
                      absl::StrAppend(out, DataTypeName(static_cast<DataType>(type)));
                    }));
  }
  return text + "\n";
}

// The return statement of a wrapper.
std::string Results(const Wrapper& wrapper) {
  const auto& outputs = wrapper.op.output_arg();
  if (outputs.empty()) return "  return call.Add();\n";
  std::vector<std::string> values;
  for (const ArgDef& arg : outputs) {
    const std::string& count_attr = arg.number_attr().empty() ? arg.type_list_attr() : arg.number_attr();
    values.push_back(IsList(arg) ? absl::StrFormat("call.TakeList(\"%s\")", count_attr) : "call.Take()");
  }
  if (outputs.size() == 1) return absl::StrCat("  call.Add();\n  return ", values[0], ";\n");
  std::string body = absl::StrCat("  ", wrapper.result_type(), " result;\n  result.operation = call.Add();\n");
  for (int i = 0; i < outputs.size(); ++i) {
    absl::StrAppend(&body, "  result.", Identifier(outputs[i].name()), " = ", values[i], ";\n");
  }
  return body + "  return result;\n";
}

}  // namespace

bool HasWrapper(const tensorflow::OpDef& op) { return !absl::StartsWith(op.name(), "_"); }

std::string WrapperDeclaration(const tensorflow::OpDef& op, const OpDescriptions& descriptions) {
  const Wrapper wrapper(op);
  std::string text;
  if (!wrapper.optional.empty()) {
    absl::StrAppend(&text, "struct ", wrapper.attrs_type(), " {\n");
    for (const AttrDef* attr : wrapper.optional) {
      absl::StrAppend(&text, "  ", CppType(attr->type()), " ", Identifier(attr->name()), " = ", CppValue(*attr), ";\n");
    }
    absl::StrAppend(&text, "};\n");
  }
  if (op.output_arg_size() > 1) {
    absl::StrAppend(&text, "struct ", wrapper.result_type(), " {\n");
    for (const ArgDef& arg : op.output_arg()) {
      absl::StrAppend(&text, "  ", IsList(arg) ? "OutputList " : "Output ", Identifier(arg.name()), ";\n");
    }
    absl::StrAppend(&text, "  Operation operation;\n};\n");
  }
  return absl::StrCat(text, Comment(op, descriptions), wrapper.result_type(), " ", op.name(), "(",
                      wrapper.Parameters(true), ");\n\n");
}

std::string WrapperDefinition(const tensorflow::OpDef& op) {
  const Wrapper wrapper(op);
  std::string text = absl::StrCat(wrapper.result_type(), " ", op.name(), "(", wrapper.Parameters(false), ") {\n");
  absl::StrAppend(&text, "  OpCall call(scope, \"", op.name(), "\");\n");
  for (const ArgDef& arg : op.input_arg()) absl::StrAppend(&text, "  call.Arg(", Identifier(arg.name()), ");\n");
  for (const AttrDef* attr : wrapper.required) {
    absl::StrAppend(&text, "  call.Attr(\"", attr->name(), "\", ", Identifier(attr->name()), ");\n");
  }
  for (const AttrDef* attr : wrapper.optional) {
    const std::string value = absl::StrCat("attrs.", Identifier(attr->name()));
    // A tensor that is not set leaves the definition's default.
    if (attr->type() == "tensor") absl::StrAppend(&text, "  if (", value, ".buffer() != nullptr)\n  ");
    absl::StrAppend(&text, "  call.Attr(\"", attr->name(), "\", ", value, ");\n");
  }
  return absl::StrCat(text, Results(wrapper), "}\n\n");
}

std::string WrapperHeader(const std::vector<const tensorflow::OpDef*>& ops, const OpDescriptions& descriptions) {
  std::string text =
      "// Generated from the op registry. One function an op: inputs, required attributes, optional attributes. Above "
      "it:\n"
      "// what the op does, its inputs and outputs with their types, and the types that type attributes allow.\n"
      "#pragma once\n\n#include <cmath>\n#include <cstdint>\n#include <string>\n#include <vector>\n\n"
      "#include \"client/ops/op_scope.h\"\n#include \"client/ops/operators.h\"\n#include \"client/scope.h\"\n"
      "#include \"core/proto_value.h\"\n#include \"core/tensor/tensor.h\"\n"
      "#include \"graph/output.h\"\n\nnamespace weir {\nnamespace WEIR_API ops {\n\n";
  for (const auto* op : ops) text += WrapperDeclaration(*op, descriptions);
  return text + "}  // namespace ops\n}  // namespace weir\n";
}

std::string WrapperSource(const std::vector<const tensorflow::OpDef*>& ops) {
  std::string text =
      "// Generated from the op registry.\n#include \"client/gen/op_call.h\"\n#include \"client/ops.h\"\n\n"
      "namespace weir::ops {\n\n";
  for (const auto* op : ops) text += WrapperDefinition(*op);
  return text + "}  // namespace weir::ops\n";
}

}  // namespace weir
