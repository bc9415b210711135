#include <google/protobuf/text_format.h>

#include <algorithm>
#include <map>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/op/attr_value.h"
#include "graph/function_library.h"
#include "graph/shapes/shape_refiner.h"
#include "graph/text/attr_inference.h"
#include "graph/text/attr_text.h"
#include "graph/text/device_text.h"
#include "graph/text/graph_text.h"
#include "tensorflow/core/framework/function.pb.h"

namespace weir {
namespace graph_text {

std::optional<std::string> ExpandDevice(absl::string_view text) {
  const std::vector<std::string> halves = absl::StrSplit(text, '/');
  if (halves.size() != 2) return std::nullopt;
  const std::vector<std::string> task = absl::StrSplit(halves[0], ':');
  if (task.size() != 2 || task[0].empty() || task[1].empty()) return std::nullopt;
  return absl::StrCat("/job:", task[0], "/replica:0/task:", task[1], "/device:", halves[1]);
}

std::string PrintDevice(const std::string& device) {
  const std::vector<std::string> parts = absl::StrSplit(device, '/');
  if (parts.size() == 5) {
    const auto value = [&](int i) { return parts[i].substr(std::min(parts[i].find(':'), parts[i].size() - 1) + 1); };
    if (!parts[1].empty() && !parts[3].empty() && !parts[4].empty()) {
      const std::string brief = absl::StrCat(value(1), ":", value(3), "/", value(4));
      const bool plain = std::all_of(brief.begin(), brief.end(), [](char c) {
        return absl::ascii_isalnum(c) || c == '_' || c == '-' || c == ':' || c == '/';
      });
      if (plain && ExpandDevice(brief) == device) return brief;
    }
  }
  return PrintQuoted(device);
}

}  // namespace graph_text

namespace {

using namespace graph_text;  // NOLINT(build/namespaces): the pieces of this very format
using tensorflow::AttrValue;
using tensorflow::NodeDef;

std::string PrintOutputs(const Node& node, const ShapeRefiner* shapes) {
  std::vector<std::string> types;
  for (int i = 0; i < node.num_outputs(); ++i) {
    types.push_back(PrintType(node.output_type(i)));
    if (shapes == nullptr) continue;
    const PartialTensorShape& shape = shapes->shape(node, i);
    if (!shape.unknown_rank()) types.back() += PrintDims(shape);
  }
  if (types.empty()) return "";
  if (types.size() == 1) return absl::StrCat(":", types[0]);
  return absl::StrCat(":(", absl::StrJoin(types, ", "), ")");
}

std::string PrintInputs(const Node& node) {
  std::vector<std::string> inputs;
  for (int i = 0; i < node.num_inputs(); ++i) {
    const Edge* edge = node.input_edge(i);
    if (edge == nullptr) continue;
    inputs.push_back(absl::StrCat("%", PrintName(edge->src->name()),
                                  edge->src_output == 0 ? "" : absl::StrCat(":", edge->src_output)));
  }
  std::vector<const Node*> controls;
  for (const Edge* edge : node.in_edges()) {
    if (edge->is_control()) controls.push_back(edge->src);
  }
  std::sort(controls.begin(), controls.end(), [](const Node* a, const Node* b) { return a->id() < b->id(); });
  for (const Node* control : controls) inputs.push_back(absl::StrCat("^%", PrintName(control->name())));
  return absl::StrJoin(inputs, ", ");
}

// Ordered by name, without those that the parser infers.
std::map<std::string, const AttrValue*> AttrsToPrint(const Node& node) {
  KnownTypes inputs;
  for (int i = 0; i < node.num_inputs(); ++i) {
    if (const Edge* edge = node.input_edge(i); edge != nullptr)
      inputs.push_back(edge->src->output_type(edge->src_output));
  }
  std::map<std::string, const AttrValue*> shown;
  for (const auto& [name, value] : node.def().attr()) shown[name] = &value;
  // Inference may depend on written attributes; so first omit everything that follows from types alone.
  const auto inferred =
      InferAttrs(node.op_def(), NodeDef(), inputs, KnownTypes(node.output_types().begin(), node.output_types().end()));
  for (const auto& [name, value] : inferred) {
    auto it = shown.find(name);
    if (it != shown.end() && AttrValuesEqual(*it->second, value)) shown.erase(it);
  }
  for (const auto& attr : node.op_def().attr()) {
    auto it = shown.find(attr.name());
    const bool is_default = it != shown.end() && attr.has_default_value() && inferred.count(attr.name()) == 0 &&
                            AttrValuesEqual(*it->second, attr.default_value());
    if (is_default) shown.erase(it);
  }
  return shown;
}

std::string PrintAttrs(const Node& node, const PrintOptions& options) {
  const auto shown = AttrsToPrint(node);
  if (shown.empty()) return "";
  return absl::StrCat(" {",
                      absl::StrJoin(shown, ", ",
                                    [&](std::string* out, const auto& attr) {
                                      absl::StrAppend(out, PrintName(attr.first), "=",
                                                      PrintAttr(*attr.second, options.max_attr_bytes));
                                    }),
                      "}");
}

// NodeDef fields that the text form does not represent.
std::string PrintExtras(const Node& node) {
  NodeDef extras;
  if (node.def().has_experimental_debug_info()) {
    *extras.mutable_experimental_debug_info() = node.def().experimental_debug_info();
  }
  if (node.def().has_experimental_type()) *extras.mutable_experimental_type() = node.def().experimental_type();
  const std::string bytes = extras.SerializeAsString();
  return bytes.empty() ? "" : absl::StrCat(" raw", PrintQuoted(bytes));
}

std::string PrintVersions(const tensorflow::VersionDef& versions) {
  std::vector<std::string> parts;
  if (versions.producer() != 0) parts.push_back(absl::StrCat("producer=", versions.producer()));
  if (versions.min_consumer() != 0) parts.push_back(absl::StrCat("min_consumer=", versions.min_consumer()));
  if (!versions.bad_consumers().empty()) {
    parts.push_back(absl::StrCat("bad_consumers=[", absl::StrJoin(versions.bad_consumers(), ", "), "]"));
  }
  return parts.empty() ? "" : absl::StrCat("versions {", absl::StrJoin(parts, ", "), "}\n");
}

}  // namespace

std::string PrintNode(const Node& node, const PrintOptions& options) {
  const std::string& device = node.assigned_device().empty() ? node.requested_device() : node.assigned_device();
  return absl::StrCat("%", PrintName(node.name()), PrintOutputs(node, options.shapes), " = ", PrintName(node.op()), "(",
                      PrintInputs(node), ")", PrintAttrs(node, options),
                      device.empty() ? "" : absl::StrCat(" @", PrintDevice(device)), PrintExtras(node));
}

std::string PrintGraph(const Graph& graph, const PrintOptions& options) {
  std::string text = PrintVersions(graph.versions());
  for (const std::string& name : graph.functions().Names()) {
    std::string function;
    google::protobuf::TextFormat::PrintToString(*graph.functions().Find(name), &function);
    absl::StrAppend(&text, "function {\n", function, "}\n");
  }
  const tensorflow::FunctionDefLibrary library = graph.functions().ToProto();
  for (const auto& gradient : library.gradient()) {
    absl::StrAppend(&text, "gradient ", PrintName(gradient.function_name()), " ", PrintName(gradient.gradient_func()),
                    "\n");
  }
  for (const Node* node : graph.nodes()) absl::StrAppend(&text, PrintNode(*node, options), "\n");
  return text;
}

}  // namespace weir
