#include "graph/text/attr_text.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <cmath>
#include <cstring>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "core/op/attr_value.h"
#include "tensorflow/core/framework/attr_value.pb.h"

namespace weir::graph_text {
namespace {

using tensorflow::AttrValue;

constexpr int kMaxDepth = 32;

constexpr std::pair<DataType, const char*> kShortNames[] = {
    {DT_FLOAT, "f32"},  {DT_DOUBLE, "f64"}, {DT_HALF, "f16"},   {DT_BFLOAT16, "bf16"}, {DT_INT8, "i8"},
    {DT_INT16, "i16"},  {DT_INT32, "i32"},  {DT_INT64, "i64"},  {DT_UINT8, "u8"},      {DT_UINT16, "u16"},
    {DT_UINT32, "u32"}, {DT_UINT64, "u64"}, {DT_STRING, "str"}, {DT_COMPLEX64, "c64"}, {DT_COMPLEX128, "c128"},
};

std::string PrintFloat(float value) {
  if (std::isnan(value)) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return absl::StrFormat("nan:%08x", bits);
  }
  std::string text = absl::StrReplaceAll(absl::StrFormat("%.9g", value), {{"e+", "e"}});
  // A number without any of these would parse as an integer.
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string PrintValue(const AttrValue& value, int depth);

std::string PrintFunc(const tensorflow::NameAttrList& function, int depth) {
  const std::map<std::string, AttrValue> attrs(function.attr().begin(), function.attr().end());
  const std::string inside = absl::StrJoin(attrs, ", ", [&](std::string* out, const auto& attr) {
    absl::StrAppend(out, PrintName(attr.first), "=", PrintValue(attr.second, depth + 1));
  });
  return absl::StrCat("@", PrintName(function.name()), "{", inside, "}");
}

std::string PrintTensor(const tensorflow::TensorProto& tensor) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  std::string text;
  printer.PrintToString(tensor, &text);
  return absl::StrCat("tensor{", absl::StripSuffix(text, " "), "}");
}

std::string PrintShape(const tensorflow::TensorShapeProto& proto) {
  auto shape = PartialTensorShape::FromProto(proto);
  return absl::StrCat("shape", shape.ok() ? PrintDims(*shape) : "?");
}

std::string PrintList(const AttrValue::ListValue& list, int depth) {
  std::vector<std::string> items;
  for (const std::string& s : list.s()) items.push_back(PrintQuoted(s));
  for (int64_t i : list.i()) items.push_back(absl::StrCat(i));
  for (float f : list.f()) items.push_back(PrintFloat(f));
  for (bool b : list.b()) items.push_back(b ? "true" : "false");
  for (int type : list.type()) items.push_back(PrintType(static_cast<DataType>(type)));
  for (const auto& shape : list.shape()) items.push_back(PrintShape(shape));
  for (const auto& tensor : list.tensor()) items.push_back(PrintTensor(tensor));
  for (const auto& function : list.func()) items.push_back(PrintFunc(function, depth));
  return absl::StrCat("[", absl::StrJoin(items, ", "), "]");
}

std::string PrintValue(const AttrValue& value, int depth) {
  if (depth > kMaxDepth) return "too deep";
  switch (value.value_case()) {
    case AttrValue::kS:
      return PrintQuoted(value.s());
    case AttrValue::kI:
      return absl::StrCat(value.i());
    case AttrValue::kF:
      return PrintFloat(value.f());
    case AttrValue::kB:
      return value.b() ? "true" : "false";
    case AttrValue::kType:
      return PrintType(static_cast<DataType>(value.type()));
    case AttrValue::kShape:
      return PrintShape(value.shape());
    case AttrValue::kTensor:
      return PrintTensor(value.tensor());
    case AttrValue::kFunc:
      return PrintFunc(value.func(), depth);
    case AttrValue::kPlaceholder:
      return absl::StrCat("$", PrintName(value.placeholder()));
    case AttrValue::kList:
      return PrintList(value.list(), depth);
    case AttrValue::VALUE_NOT_SET:
      return "unset";
  }
  return "unset";
}

class SilentErrors : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (first.empty()) first = message;
  }
  std::string first;
};

absl::Status ParseTensor(Scanner& scanner, AttrValue* value) {
  ASSIGN_OR_RETURN(absl::string_view text, scanner.Braced());
  SilentErrors problems;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&problems);
  parser.SetRecursionLimit(kMaxDepth);
  if (parser.ParseFromString(std::string(text), value->mutable_tensor())) return absl::OkStatus();
  return scanner.Error(absl::StrCat("a malformed tensor (", problems.first, ") before this"));
}

absl::Status ParseValue(Scanner& scanner, int depth, AttrValue* value);

absl::Status ParseFunc(Scanner& scanner, int depth, AttrValue* value) {
  ASSIGN_OR_RETURN(*value->mutable_func()->mutable_name(), scanner.Name());
  RETURN_IF_ERROR(scanner.Expect("{"));
  while (!scanner.Consume("}")) {
    ASSIGN_OR_RETURN(std::string name, scanner.Name());
    RETURN_IF_ERROR(scanner.Expect("="));
    RETURN_IF_ERROR(ParseValue(scanner, depth + 1, &(*value->mutable_func()->mutable_attr())[name]));
    if (!scanner.LooksAt("}")) RETURN_IF_ERROR(scanner.Expect(","));
  }
  return absl::OkStatus();
}

absl::Status AppendToList(Scanner& scanner, const AttrValue& item, AttrValue::ListValue* list) {
  switch (item.value_case()) {
    case AttrValue::kS:
      list->add_s(item.s());
      break;
    case AttrValue::kI:
      list->add_i(item.i());
      break;
    case AttrValue::kF:
      list->add_f(item.f());
      break;
    case AttrValue::kB:
      list->add_b(item.b());
      break;
    case AttrValue::kType:
      list->add_type(item.type());
      break;
    case AttrValue::kShape:
      *list->add_shape() = item.shape();
      break;
    case AttrValue::kTensor:
      *list->add_tensor() = item.tensor();
      break;
    case AttrValue::kFunc:
      *list->add_func() = item.func();
      break;
    default:
      return scanner.Error("the preceding value cannot be in a list");
  }
  return absl::OkStatus();
}

absl::Status ParseList(Scanner& scanner, int depth, AttrValue* value) {
  AttrValue::ListValue* list = value->mutable_list();
  while (!scanner.Consume("]")) {
    AttrValue item;
    RETURN_IF_ERROR(ParseValue(scanner, depth + 1, &item));
    RETURN_IF_ERROR(AppendToList(scanner, item, list));
    if (!scanner.LooksAt("]")) RETURN_IF_ERROR(scanner.Expect(","));
  }
  return absl::OkStatus();
}

absl::Status ParseNumber(Scanner& scanner, AttrValue* value) {
  Scanner ahead = scanner;
  ahead.Consume("+");
  const std::string word(ahead.Word());
  int64_t integer;
  float number;
  if (absl::SimpleAtoi(word, &integer)) {
    value->set_i(integer);
  } else if (absl::SimpleAtof(word, &number)) {
    value->set_f(number);
  } else {
    return scanner.Error("expected a value");
  }
  scanner = ahead;
  return absl::OkStatus();
}

absl::Status ParseWord(Scanner& scanner, int depth, AttrValue* value) {
  Scanner ahead = scanner;
  const absl::string_view word = ahead.Word();
  if (word == "true" || word == "false") {
    value->set_b(word == "true");
  } else if (word == "unset") {
    value->Clear();
  } else if (word == "raw") {
    ASSIGN_OR_RETURN(std::string bytes, ahead.Quoted());
    if (!value->ParseFromString(bytes)) return scanner.Error("expected a serialised AttrValue");
  } else if (word == "tensor") {
    RETURN_IF_ERROR(ParseTensor(ahead, value));
  } else if (word == "shape") {
    ASSIGN_OR_RETURN(PartialTensorShape shape, ParseDims(ahead));
    shape.ToProto(value->mutable_shape());
  } else if (word == "nan") {
    uint32_t bits = 0;
    RETURN_IF_ERROR(ahead.Expect(":"));
    if (!absl::SimpleHexAtoi(ahead.Word(), &bits)) return scanner.Error("expected nan:<bits>");
    float number;
    std::memcpy(&number, &bits, sizeof(number));
    value->set_f(number);
  } else if (word == "inf") {
    value->set_f(HUGE_VALF);
  } else {
    ASSIGN_OR_RETURN(DataType type, ParseType(scanner));
    value->set_type(static_cast<tensorflow::DataType>(type));
    return absl::OkStatus();
  }
  scanner = ahead;
  return absl::OkStatus();
}

absl::Status ParseValue(Scanner& scanner, int depth, AttrValue* value) {
  if (depth > kMaxDepth) return scanner.Error("values are nested too deeply");
  value->Clear();
  const char c = scanner.peek();
  if (c == '"') {
    ASSIGN_OR_RETURN(std::string s, scanner.Quoted());
    value->set_s(s);
    return absl::OkStatus();
  }
  if (scanner.Consume("@")) return ParseFunc(scanner, depth, value);
  if (scanner.Consume("[")) return ParseList(scanner, depth, value);
  if (scanner.Consume("$")) {
    ASSIGN_OR_RETURN(std::string name, scanner.Name());
    value->set_placeholder(name);
    return absl::OkStatus();
  }
  const bool number = absl::ascii_isdigit(c) || c == '-' || c == '+' || c == '.';
  return number ? ParseNumber(scanner, value) : ParseWord(scanner, depth, value);
}

}  // namespace

std::string PrintType(DataType type) {
  const char* suffix = IsRefType(type) ? "&" : "";
  for (const auto& [known, name] : kShortNames) {
    if (known == RemoveRef(type)) return absl::StrCat(name, suffix);
  }
  if (IsValidDataType(RemoveRef(type))) return absl::StrCat(DataTypeName(RemoveRef(type)), suffix);
  return absl::StrCat("type", static_cast<int>(type));
}

absl::StatusOr<DataType> ParseType(Scanner& scanner) {
  Scanner ahead = scanner;
  absl::string_view word = ahead.Word();
  std::optional<DataType> type;
  for (const auto& [known, name] : kShortNames) {
    if (word == name) type = known;
  }
  if (!type) type = ParseDataType(word);
  if (int number = 0; !type && absl::ConsumePrefix(&word, "type") && absl::SimpleAtoi(word, &number)) {
    type = static_cast<DataType>(number);
  }
  if (!type) return scanner.Error("expected a type");
  if (ahead.Consume("&")) type = MakeRef(*type);
  scanner = ahead;
  return *type;
}

std::string PrintDims(const PartialTensorShape& shape) {
  if (shape.unknown_rank()) return "[*]";
  return absl::StrCat(
      "[",
      absl::StrJoin(shape.dim_sizes(), ",",
                    [](std::string* out, int64_t dim) { absl::StrAppend(out, dim < 0 ? "?" : absl::StrCat(dim)); }),
      "]");
}

absl::StatusOr<PartialTensorShape> ParseDims(Scanner& scanner) {
  RETURN_IF_ERROR(scanner.Expect("["));
  if (scanner.Consume("*")) {
    RETURN_IF_ERROR(scanner.Expect("]"));
    return PartialTensorShape();
  }
  DimVector dims;
  while (!scanner.Consume("]")) {
    int64_t dim = -1;
    if (!scanner.Consume("?") && (!absl::SimpleAtoi(scanner.Word(), &dim) || dim < 0)) {
      return scanner.Error("expected a dimension before this");
    }
    dims.push_back(dim);
    if (!scanner.LooksAt("]")) RETURN_IF_ERROR(scanner.Expect(","));
  }
  return PartialTensorShape::Build(dims);
}

std::string PrintAttr(const AttrValue& value, std::optional<size_t> max_bytes) {
  if (max_bytes.has_value() && value.ByteSizeLong() > *max_bytes) {
    return absl::StrCat("<", value.ByteSizeLong(), " bytes>");
  }
  std::string text = PrintValue(value, 0);
  AttrValue again;
  Scanner scanner(text);
  if (ParseAttr(scanner, &again).ok() && scanner.done() && AttrValuesEqual(value, again)) return text;
  return absl::StrCat("raw", PrintQuoted(value.SerializeAsString()));
}

absl::Status ParseAttr(Scanner& scanner, AttrValue* value) { return ParseValue(scanner, 0, value); }

}  // namespace weir::graph_text
