#include "core/op/op_spec.h"

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "core/op/attr_value.h"
#include "tensorflow/core/framework/attr_value.pb.h"
#include "tensorflow/core/framework/op_def.pb.h"

namespace weir {
namespace {

using tensorflow::OpDef;

// Reads a specification from left to right, ignoring blanks between words.
class SpecReader {
 public:
  explicit SpecReader(absl::string_view spec) : rest_(spec) { SkipBlanks(); }

  bool Consume(absl::string_view token) {
    if (!absl::ConsumePrefix(&rest_, token)) return false;
    SkipBlanks();
    return true;
  }
  // A letter, then letters, digits and underscores; empty if there is none.
  std::string Word() {
    size_t n = 0;
    while (n < rest_.size() &&
           (absl::ascii_isalpha(rest_[n]) || (n > 0 && (absl::ascii_isdigit(rest_[n]) || rest_[n] == '_')))) {
      ++n;
    }
    std::string word(rest_.substr(0, n));
    rest_.remove_prefix(n);
    SkipBlanks();
    return word;
  }
  bool Integer(int64_t* value) {
    size_t n = !rest_.empty() && rest_[0] == '-' ? 1 : 0;
    while (n < rest_.size() && absl::ascii_isdigit(rest_[n])) ++n;
    if (!absl::SimpleAtoi(rest_.substr(0, n), value)) return false;
    rest_.remove_prefix(n);
    SkipBlanks();
    return true;
  }
  // A string in single or double quotes, without escapes.
  bool Quoted(std::string* value) {
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) return false;
    const size_t end = rest_.find(rest_[0], 1);
    if (end == absl::string_view::npos) return false;
    *value = std::string(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    SkipBlanks();
    return true;
  }
  absl::string_view rest() const { return rest_; }
  bool done() const { return rest_.empty(); }

 private:
  void SkipBlanks() { rest_ = absl::StripLeadingAsciiWhitespace(rest_); }
  absl::string_view rest_;
};

absl::Status Malformed(absl::string_view what, absl::string_view spec, absl::string_view why) {
  return errors::InvalidArgument("Trouble parsing the ", what, " specification \"", spec, "\": ", why);
}

const OpDef::AttrDef* FindAttrDef(const OpDef& op_def, absl::string_view name) {
  for (const OpDef::AttrDef& attr : op_def.attr()) {
    if (attr.name() == name) return &attr;
  }
  return nullptr;
}

OpDef::AttrDef* FindMutableAttrDef(OpDef* op_def, absl::string_view name) {
  return const_cast<OpDef::AttrDef*>(FindAttrDef(*op_def, name));
}

bool IsSimpleAttrType(absl::string_view type) {
  for (absl::string_view known : {"string", "int", "float", "bool", "type", "shape", "tensor", "func", "any"}) {
    if (type == known) return true;
  }
  return false;
}

bool IsAttrType(absl::string_view type) {
  if (absl::ConsumePrefix(&type, "list(") && !absl::ConsumeSuffix(&type, ")")) return false;
  return IsSimpleAttrType(type);
}

void AddAllowedType(DataType type, OpDef::AttrDef* attr) {
  attr->mutable_allowed_values()->mutable_list()->add_type(static_cast<tensorflow::DataType>(type));
}

// The contents of a set's braces; the opening one is consumed.
bool ReadSet(SpecReader* in, OpDef::AttrDef* attr, std::string* type) {
  *type = absl::StartsWith(in->rest(), "'") || absl::StartsWith(in->rest(), "\"") ? "string" : "type";
  while (!in->Consume("}")) {
    if (std::string text; in->Quoted(&text)) {
      if (*type != "string") return false;
      attr->mutable_allowed_values()->mutable_list()->add_s(text);
    } else {
      const std::string word = in->Word();
      const DataTypeVector set = NamedTypeSet(word);
      const std::optional<DataType> single = ParseDataType(word);
      if (*type != "type" || (set.empty() && !single)) return false;
      for (DataType member : set) AddAllowedType(member, attr);
      if (single) AddAllowedType(*single, attr);
    }
    if (!in->Consume(",") && !absl::StartsWith(in->rest(), "}")) return false;
  }
  return attr->allowed_values().list().type_size() + attr->allowed_values().list().s_size() > 0;
}

bool ReadAttrType(SpecReader* in, OpDef::AttrDef* attr, std::string* type) {
  if (in->Consume("{")) return ReadSet(in, attr, type);
  *type = in->Word();
  if (IsSimpleAttrType(*type)) return true;
  const DataTypeVector set = NamedTypeSet(*type);
  for (DataType member : set) AddAllowedType(member, attr);
  *type = "type";
  return !set.empty();
}

// Arguments of several tensors have at least one, unless the op says otherwise.
void DefaultMinimum(OpDef::AttrDef* attr) {
  if (attr->has_minimum()) return;
  attr->set_has_minimum(true);
  attr->set_minimum(1);
}

bool IsArgName(absl::string_view name) {
  return !name.empty() && absl::ascii_islower(name[0]) &&
         std::all_of(name.begin(), name.end(), [](char c) { return absl::ascii_isalnum(c) || c == '_'; });
}

absl::Status CheckDefault(const OpDef::AttrDef& attr) {
  if (!attr.has_default_value()) return absl::OkStatus();
  return Annotate(ValidateAttrValue(attr.default_value(), attr),
                  absl::StrCat("The default value of attr '", attr.name(), "'"));
}

absl::Status CheckArg(const OpDef& op_def, const OpDef::ArgDef& arg) {
  auto refers_to = [&](const std::string& attr_name, absl::string_view type) {
    if (attr_name.empty()) return true;
    const OpDef::AttrDef* attr = FindAttrDef(op_def, attr_name);
    return attr != nullptr && attr->type() == type;
  };
  if (!refers_to(arg.number_attr(), "int") || !refers_to(arg.type_attr(), "type") ||
      !refers_to(arg.type_list_attr(), "list(type)")) {
    return errors::InvalidArgument("Argument '", arg.name(), "' refers to an attr that is absent or of the wrong type");
  }
  const int kinds = (arg.type() != 0) + !arg.type_attr().empty() + !arg.type_list_attr().empty();
  if (kinds != 1) return errors::InvalidArgument("Argument '", arg.name(), "' must have exactly one type");
  return absl::OkStatus();
}

std::string SummarizeArgs(const google::protobuf::RepeatedPtrField<OpDef::ArgDef>& args) {
  return absl::StrJoin(args, ", ", [](std::string* out, const OpDef::ArgDef& arg) {
    const std::string type = !arg.type_list_attr().empty() ? arg.type_list_attr()
                             : !arg.type_attr().empty()    ? arg.type_attr()
                                                           : DataTypeName(static_cast<DataType>(arg.type()));
    absl::StrAppend(out, arg.name(), ":", arg.is_ref() ? "Ref(" : "",
                    arg.number_attr().empty() ? "" : absl::StrCat(arg.number_attr(), "*"), type,
                    arg.is_ref() ? ")" : "");
  });
}

}  // namespace

DataTypeVector NamedTypeSet(absl::string_view name) {
  const bool real = name == "realnumbertype", number = name == "numbertype" || name == "numerictype";
  DataTypeVector types;
  for (int i = 1; i < DT_FLOAT8_E5M2; ++i) {
    const DataType type = static_cast<DataType>(i);
    const bool is_real = IsFloating(type) || IsInteger(type);
    if ((real && is_real) || (number && (is_real || IsComplex(type) || IsQuantized(type))) ||
        (name == "quantizedtype" && IsQuantized(type))) {
      types.push_back(type);
    }
  }
  return types;
}

absl::Status AddAttrFromSpec(absl::string_view spec, OpDef* op_def) {
  SpecReader in(spec);
  OpDef::AttrDef attr;
  attr.set_name(in.Word());
  if (attr.name().empty() || !in.Consume(":")) return Malformed("Attr", spec, "expected \"<name>: <type>\"");
  const bool is_list = in.Consume("list") && in.Consume("(");
  std::string type;
  if (!ReadAttrType(&in, &attr, &type)) return Malformed("Attr", spec, "unknown type");
  if (is_list && !in.Consume(")")) return Malformed("Attr", spec, "expected ')' to close \"list(\"");
  attr.set_type(is_list ? absl::StrCat("list(", type, ")") : type);
  if ((is_list || type == "int") && in.Consume(">=")) {
    int64_t minimum;
    if (!in.Integer(&minimum)) return Malformed("Attr", spec, "expected an integer after '>='");
    attr.set_has_minimum(true);
    attr.set_minimum(minimum);
  }
  if (in.Consume("=")) {
    absl::Status status = ParseAttrValue(attr.type(), in.rest(), attr.mutable_default_value());
    if (!status.ok()) return Malformed("Attr", spec, status.message());
  } else if (!in.done()) {
    return Malformed("Attr", spec, absl::StrCat("extra \"", in.rest(), "\" at the end"));
  }
  *op_def->add_attr() = std::move(attr);
  return absl::OkStatus();
}

absl::Status AddArgFromSpec(absl::string_view spec, bool is_output, OpDef* op_def) {
  const absl::string_view what = is_output ? "Output" : "Input";
  SpecReader in(spec);
  OpDef::ArgDef arg;
  arg.set_name(in.Word());
  if (!IsArgName(arg.name()) || !in.Consume(":")) return Malformed(what, spec, "expected \"<name>: <type>\"");
  arg.set_is_ref(in.Consume("Ref("));
  std::string word = in.Word();
  if (in.Consume("*")) {
    OpDef::AttrDef* number = FindMutableAttrDef(op_def, word);
    if (number == nullptr || number->type() != "int") {
      return Malformed(what, spec, absl::StrCat("'", word, "' is no attr of type int"));
    }
    DefaultMinimum(number);
    arg.set_number_attr(word);
    word = in.Word();
  }
  OpDef::AttrDef* attr = FindMutableAttrDef(op_def, word);
  if (std::optional<DataType> type = ParseDataType(word); type && !IsRefType(*type)) {
    arg.set_type(static_cast<tensorflow::DataType>(*type));
  } else if (attr != nullptr && attr->type() == "type") {
    arg.set_type_attr(word);
  } else if (attr != nullptr && attr->type() == "list(type)" && arg.number_attr().empty()) {
    DefaultMinimum(attr);
    arg.set_type_list_attr(word);
  } else {
    return Malformed(what, spec, absl::StrCat("'", word, "' is neither a type nor an attr that holds one"));
  }
  if (arg.is_ref() && !in.Consume(")")) return Malformed(what, spec, "expected ')' to close \"Ref(\"");
  if (!in.done()) return Malformed(what, spec, absl::StrCat("extra \"", in.rest(), "\" at the end"));
  // Any access to a resource is a side effect.
  if (arg.type() == tensorflow::DT_RESOURCE) op_def->set_is_stateful(true);
  *(is_output ? op_def->add_output_arg() : op_def->add_input_arg()) = std::move(arg);
  return absl::OkStatus();
}

absl::Status ValidateOpDef(const OpDef& op_def) {
  const std::string context = absl::StrCat("Op '", op_def.name(), "'");
  if (op_def.name().empty()) return errors::InvalidArgument("An op must have a name");
  absl::flat_hash_set<absl::string_view> names;
  for (const OpDef::AttrDef& attr : op_def.attr()) {
    if (!names.insert(attr.name()).second)
      return errors::InvalidArgument(context, ": duplicate attr '", attr.name(), "'");
    if (!IsAttrType(attr.type())) {
      return errors::InvalidArgument(context, ": attr '", attr.name(), "' has unknown type '", attr.type(), "'");
    }
    RETURN_IF_ERROR(Annotate(CheckDefault(attr), context));
  }
  for (const auto* args : {&op_def.input_arg(), &op_def.output_arg()}) {
    names.clear();
    for (const OpDef::ArgDef& arg : *args) {
      if (!names.insert(arg.name()).second) {
        return errors::InvalidArgument(context, ": duplicate argument '", arg.name(), "'");
      }
      RETURN_IF_ERROR(Annotate(CheckArg(op_def, arg), context));
    }
  }
  return absl::OkStatus();
}

std::string SummarizeOpDef(const OpDef& op_def) {
  std::string out = absl::StrCat("Op<name=", op_def.name(), "; signature=", SummarizeArgs(op_def.input_arg()), " -> ",
                                 SummarizeArgs(op_def.output_arg()));
  for (const OpDef::AttrDef& attr : op_def.attr()) {
    absl::StrAppend(&out, "; attr=", attr.name(), ":", attr.type());
    if (attr.has_default_value()) absl::StrAppend(&out, ",default=", AttrValueToString(attr.default_value()));
    if (attr.has_minimum()) absl::StrAppend(&out, ",min=", attr.minimum());
    if (attr.has_allowed_values()) absl::StrAppend(&out, ",allowed=", AttrValueToString(attr.allowed_values()));
  }
  return absl::StrCat(out, op_def.is_stateful() ? "; is_stateful=true>" : ">");
}

}  // namespace weir
