#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "core/op/attr_value.h"
#include "graph/function_library.h"
#include "graph/text/attr_inference.h"
#include "graph/text/attr_text.h"
#include "graph/text/device_text.h"
#include "graph/text/graph_text.h"
#include "tensorflow/core/framework/function.pb.h"

namespace weir {
namespace {

using namespace graph_text;  // NOLINT(build/namespaces): the pieces of this very format
using tensorflow::GraphDef;
using tensorflow::NodeDef;

class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (text.empty()) text = absl::StrCat("line ", line + 1, " of it: ", message);
  }
  std::string text;
};

struct ParsedNode {
  NodeDef def;
  std::vector<std::pair<std::string, int>> inputs;  // data only; output -1 never occurs
  std::optional<KnownTypes> outputs;
};

class Parser {
 public:
  Parser(absl::string_view text, const Graph& graph) : scanner_(text), graph_(graph) {}

  absl::StatusOr<GraphDef> Parse() {
    while (!scanner_.done()) RETURN_IF_ERROR(ParseStatement());
    functions_ = graph_.functions();
    RETURN_IF_ERROR(functions_.AddLibrary(def_.library()));
    for (const ParsedNode& node : nodes_) {
      if (node.outputs.has_value()) types_.emplace(node.def.name(), *node.outputs);
    }
    for (ParsedNode& node : nodes_) {
      RETURN_IF_ERROR(Complete(&node));
      *def_.add_node() = std::move(node.def);
    }
    return std::move(def_);
  }

 private:
  absl::Status ParseStatement();
  absl::Status ParseVersions();
  absl::Status ParseFunction();
  absl::Status ParseNode();
  absl::StatusOr<KnownTypes> ParseOutputs();
  absl::StatusOr<std::optional<DataType>> ParseOutput();
  absl::Status ParseInput(ParsedNode* node);
  absl::Status ParseAttrs(NodeDef* def);
  absl::Status ParseDevice(NodeDef* def);
  absl::StatusOr<int> ParseInt();
  absl::Status Complete(ParsedNode* node);
  std::optional<DataType> TypeOf(const std::string& node, int output) const;

  Scanner scanner_;
  const Graph& graph_;
  FunctionLibrary functions_;
  GraphDef def_;
  std::vector<ParsedNode> nodes_;
  absl::flat_hash_map<std::string, KnownTypes> types_;  // of outputs, by node
};

absl::Status Parser::ParseStatement() {
  if (scanner_.Consume("%")) return ParseNode();
  if (scanner_.Consume("versions")) return ParseVersions();
  if (scanner_.Consume("function")) return ParseFunction();
  if (!scanner_.Consume("gradient")) return scanner_.Error("expected '%', 'versions', 'function' or 'gradient'");
  auto* gradient = def_.mutable_library()->add_gradient();
  ASSIGN_OR_RETURN(*gradient->mutable_function_name(), scanner_.Name());
  ASSIGN_OR_RETURN(*gradient->mutable_gradient_func(), scanner_.Name());
  return absl::OkStatus();
}

absl::StatusOr<int> Parser::ParseInt() {
  Scanner ahead = scanner_;
  int value = 0;
  if (!absl::SimpleAtoi(ahead.Word(), &value)) return scanner_.Error("expected an integer");
  scanner_ = ahead;
  return value;
}

absl::Status Parser::ParseVersions() {
  RETURN_IF_ERROR(scanner_.Expect("{"));
  auto* versions = def_.mutable_versions();
  while (!scanner_.Consume("}")) {
    const absl::string_view name = scanner_.Word();
    RETURN_IF_ERROR(scanner_.Expect("="));
    if (name == "bad_consumers") {
      RETURN_IF_ERROR(scanner_.Expect("["));
      while (!scanner_.Consume("]")) {
        ASSIGN_OR_RETURN(int bad, ParseInt());
        versions->add_bad_consumers(bad);
        if (!scanner_.LooksAt("]")) RETURN_IF_ERROR(scanner_.Expect(","));
      }
    } else {
      ASSIGN_OR_RETURN(int value, ParseInt());
      if (name == "producer") {
        versions->set_producer(value);
      } else if (name == "min_consumer") {
        versions->set_min_consumer(value);
      } else {
        return scanner_.Error(absl::StrCat("unknown version '", name, "' before this"));
      }
    }
    if (!scanner_.LooksAt("}")) RETURN_IF_ERROR(scanner_.Expect(","));
  }
  return absl::OkStatus();
}

absl::Status Parser::ParseFunction() {
  const Scanner start = scanner_;
  ASSIGN_OR_RETURN(absl::string_view text, scanner_.Braced());
  FirstError problem;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&problem);
  parser.SetRecursionLimit(64);
  if (parser.ParseFromString(std::string(text), def_.mutable_library()->add_function())) return absl::OkStatus();
  return start.Error(absl::StrCat("a malformed function (", problem.text, ")"));
}

absl::StatusOr<std::optional<DataType>> Parser::ParseOutput() {
  ASSIGN_OR_RETURN(DataType type, ParseType(scanner_));
  if (scanner_.peek() == '[') RETURN_IF_ERROR(ParseDims(scanner_).status());
  return std::optional<DataType>(type);
}

absl::StatusOr<KnownTypes> Parser::ParseOutputs() {
  KnownTypes types;
  if (!scanner_.Consume("(")) {
    ASSIGN_OR_RETURN(std::optional<DataType> type, ParseOutput());
    types.push_back(type);
    return types;
  }
  while (!scanner_.Consume(")")) {
    ASSIGN_OR_RETURN(std::optional<DataType> type, ParseOutput());
    types.push_back(type);
    if (!scanner_.LooksAt(")")) RETURN_IF_ERROR(scanner_.Expect(","));
  }
  return types;
}

absl::Status Parser::ParseInput(ParsedNode* node) {
  const bool control = scanner_.Consume("^");
  RETURN_IF_ERROR(scanner_.Expect("%"));
  ASSIGN_OR_RETURN(std::string name, scanner_.Name());
  if (control) {
    node->def.add_input(absl::StrCat("^", name));
    return absl::OkStatus();
  }
  int output = 0;
  if (scanner_.Consume(":")) {
    ASSIGN_OR_RETURN(output, ParseInt());
    if (output < 0) return scanner_.Error("a negative output before this");
  }
  node->def.add_input(output == 0 ? name : absl::StrCat(name, ":", output));
  node->inputs.emplace_back(std::move(name), output);
  return absl::OkStatus();
}

absl::Status Parser::ParseAttrs(NodeDef* def) {
  while (!scanner_.Consume("}")) {
    ASSIGN_OR_RETURN(std::string name, scanner_.Name());
    RETURN_IF_ERROR(scanner_.Expect("="));
    if (def->attr().contains(name)) return scanner_.Error(absl::StrCat("attribute '", name, "' occurs twice"));
    RETURN_IF_ERROR(ParseAttr(scanner_, &(*def->mutable_attr())[name]));
    if (!scanner_.LooksAt("}")) RETURN_IF_ERROR(scanner_.Expect(","));
  }
  return absl::OkStatus();
}

absl::Status Parser::ParseDevice(NodeDef* def) {
  if (scanner_.peek() == '"') {
    ASSIGN_OR_RETURN(*def->mutable_device(), scanner_.Quoted());
    return absl::OkStatus();
  }
  std::string text(scanner_.Word());
  while (scanner_.Consume(":")) absl::StrAppend(&text, ":", scanner_.Word());
  const std::optional<std::string> device = ExpandDevice(text);
  if (!device.has_value()) return scanner_.Error("expected a device such as worker:0/CPU:0 before this");
  def->set_device(*device);
  return absl::OkStatus();
}

absl::Status Parser::ParseNode() {
  ParsedNode node;
  ASSIGN_OR_RETURN(*node.def.mutable_name(), scanner_.Name());
  if (scanner_.Consume(":")) {
    ASSIGN_OR_RETURN(node.outputs, ParseOutputs());
  }
  RETURN_IF_ERROR(scanner_.Expect("="));
  ASSIGN_OR_RETURN(*node.def.mutable_op(), scanner_.Name());
  RETURN_IF_ERROR(scanner_.Expect("("));
  while (!scanner_.Consume(")")) {
    RETURN_IF_ERROR(ParseInput(&node));
    if (!scanner_.LooksAt(")")) RETURN_IF_ERROR(scanner_.Expect(","));
  }
  if (scanner_.Consume("{")) RETURN_IF_ERROR(ParseAttrs(&node.def));
  if (scanner_.Consume("@")) RETURN_IF_ERROR(ParseDevice(&node.def));
  if (scanner_.Consume("raw")) {
    ASSIGN_OR_RETURN(std::string bytes, scanner_.Quoted());
    NodeDef extras;
    if (!extras.ParseFromString(bytes)) return scanner_.Error("a malformed raw node before this");
    *node.def.mutable_experimental_debug_info() = extras.experimental_debug_info();
    *node.def.mutable_experimental_type() = extras.experimental_type();
    if (!extras.has_experimental_debug_info()) node.def.clear_experimental_debug_info();
    if (!extras.has_experimental_type()) node.def.clear_experimental_type();
  }
  nodes_.push_back(std::move(node));
  return absl::OkStatus();
}

std::optional<DataType> Parser::TypeOf(const std::string& node, int output) const {
  if (auto it = types_.find(node); it != types_.end()) {
    return output < static_cast<int>(it->second.size()) ? it->second[output] : std::nullopt;
  }
  const Node* known = graph_.FindNode(node);
  if (known == nullptr || output >= known->num_outputs()) return std::nullopt;
  return known->output_type(output);
}

// Fills in attributes, and checks the output types on the left side. Import reports all other errors.
absl::Status Parser::Complete(ParsedNode* node) {
  const OpRegistration* registration = graph_.ops().Find(node->def.op());
  const tensorflow::OpDef* op =
      registration != nullptr ? registration->op_def.get() : functions_.FindSignature(node->def.op());
  if (op == nullptr) return absl::OkStatus();
  KnownTypes inputs;
  for (const auto& [name, output] : node->inputs) inputs.push_back(TypeOf(name, output));
  for (auto& [name, value] : InferAttrs(*op, node->def, inputs, node->outputs)) {
    (*node->def.mutable_attr())[name] = std::move(value);
  }
  AddDefaultAttrs(*op, &node->def);
  DataTypeVector in, out;
  if (!InOutTypesForNode(node->def, *op, &in, &out).ok()) return absl::OkStatus();
  KnownTypes actual(out.begin(), out.end());
  if (node->outputs.has_value() && *node->outputs != actual) {
    return errors::InvalidArgument("Node '", node->def.name(),
                                   "' declares output types that differ from those of its op ", node->def.op(), ": (",
                                   DataTypeListName(out), ")");
  }
  types_[node->def.name()] = std::move(actual);
  return absl::OkStatus();
}

}  // namespace

absl::Status ParseGraph(absl::string_view text, const ImportOptions& options, Graph* graph) {
  ASSIGN_OR_RETURN(GraphDef def, Parser(text, *graph).Parse());
  return ImportGraphDef(options, std::move(def), graph);
}

}  // namespace weir
