#include "graph/debug_watches.h"

#include <map>

#include "absl/container/btree_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/tensor/types.h"

namespace weir {
namespace {

using tensorflow::AttrValue;
using tensorflow::DebugTensorWatch;
using Attributes = std::map<std::string, std::string>;

// "DebugNumericSummary(lower_bound=-2;mute_if_healthy=true)"
struct DebugOp {
  static absl::StatusOr<DebugOp> Parse(absl::string_view text) {
    DebugOp op;
    const size_t open = text.find('(');
    op.name = std::string(text.substr(0, open));
    if (open == absl::string_view::npos) return op;
    if (text.back() != ')') return errors::FailedPrecondition("Malformed debug op name \"", text, "\"");
    for (absl::string_view entry :
         absl::StrSplit(text.substr(open + 1, text.size() - open - 2), ';', absl::SkipWhitespace())) {
      const std::pair<absl::string_view, absl::string_view> pair = absl::StrSplit(entry, absl::MaxSplits('=', 1));
      const std::string key(absl::StripAsciiWhitespace(pair.first));
      if (entry.find('=') == absl::string_view::npos || key.empty()) {
        return errors::FailedPrecondition("Malformed attributes in debug op name \"", text, "\"");
      }
      if (!op.attributes.emplace(key, absl::StripAsciiWhitespace(pair.second)).second) {
        return errors::FailedPrecondition("Duplicate attribute name in debug op name \"", text, "\": ", key);
      }
    }
    return op;
  }
  bool IsGated() const {
    auto it = attributes.find("gated_grpc");
    return it != attributes.end() && (absl::AsciiStrToLower(it->second) == "true" || it->second == "1");
  }

  std::string name;
  Attributes attributes;
};

absl::Status SetFromText(const tensorflow::OpDef::AttrDef& attr, const std::string& text, AttrValue* value) {
  if (attr.type() == "string") {
    value->set_s(text);
    return absl::OkStatus();
  }
  float f;
  int64_t i;
  bool b;
  if (attr.type() == "float" && absl::SimpleAtof(text, &f)) {
    value->set_f(f);
  } else if (attr.type() == "int" && absl::SimpleAtoi(text, &i)) {
    value->set_i(i);
  } else if (attr.type() == "bool" && absl::SimpleAtob(text, &b)) {
    value->set_b(b);
  } else {
    return errors::FailedPrecondition("Invalid value string for ", attr.type(), "-type attribute ", attr.name(), ": \"",
                                      text, "\"");
  }
  return absl::OkStatus();
}

class Watcher {
 public:
  Watcher(const std::string& device, const std::function<absl::Status(const tensorflow::NodeDef&)>& has_kernel,
          Graph* graph)
      : device_(device), has_kernel_(has_kernel), graph_(*graph) {}

  absl::Status Watch(Node* node, int slot, const DebugTensorWatch& watch) {
    const std::string copy_name = absl::StrCat("__copy_", node->name(), "_", slot);
    if (graph_.FindNode(copy_name) != nullptr) return absl::OkStatus();  // shared with another watch
    std::vector<DebugOp> ops;
    for (const std::string& text : watch.debug_ops()) {
      ASSIGN_OR_RETURN(ops.emplace_back(), DebugOp::Parse(text));
    }
    std::vector<Node*> users;
    for (const Edge* edge : node->out_edges()) {
      if (edge->src_output == slot && !edge->is_control()) users.push_back(edge->dst);
    }
    ASSIGN_OR_RETURN(Node * copy, AddCopy(copy_name, node, slot, watch, ops));
    for (size_t i = 0; i < ops.size(); ++i) {
      const auto debug = AddDebug(copy, node, slot, watch, ops[i], i);
      if (!debug.ok()) {
        if (watch.tolerate_debug_op_creation_failures()) continue;
        return errors::FailedPrecondition("Failed to create debug node __dbg_", node->name(), ":", slot, "_", i, "_",
                                          ops[i].name, ": ", debug.status().message());
      }
      // A Merge runs with its first input: in a loop, waiting for the copy could deadlock with the next iteration.
      for (Node* user : users) {
        if (!user->IsMerge()) graph_.AddControlEdge(*debug, user);
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<Node*> Add(tensorflow::NodeDef def, Node* input, int slot) {
    def.set_device(device_);
    (*def.mutable_attr())["T"].set_type(static_cast<tensorflow::DataType>(RemoveRef(input->output_type(slot))));
    ASSIGN_OR_RETURN(Node * node, graph_.AddNode(std::move(def)));
    node->set_assigned_device(device_);
    RETURN_IF_ERROR(graph_.AddEdge(input, slot, node, 0).status());
    return node;
  }

  absl::StatusOr<Node*> AddCopy(const std::string& name, Node* node, int slot, const DebugTensorWatch& watch,
                                const std::vector<DebugOp>& ops) {
    tensorflow::NodeDef def;
    def.set_name(name);
    def.set_op("Copy");
    (*def.mutable_attr())["tensor_name"].set_s(absl::StrCat(node->name(), ":", slot));
    auto* specs = (*def.mutable_attr())["debug_ops_spec"].mutable_list();
    for (const DebugOp& op : ops) {
      for (const std::string& url : watch.debug_urls()) {
        specs->add_s(absl::StrCat(op.name, ";", url, ";", op.IsGated() ? 1 : 0));
      }
    }
    return Add(std::move(def), node, slot);
  }

  absl::StatusOr<Node*> AddDebug(Node* copy, Node* node, int slot, const DebugTensorWatch& watch, const DebugOp& op,
                                 size_t position) {
    tensorflow::NodeDef def;
    const std::string tensor = absl::StrCat(node->name(), ":", slot);
    def.set_name(absl::StrCat("__dbg_", tensor, "_", position, "_", op.name));
    def.set_op(op.name);
    auto& attributes = *def.mutable_attr();
    attributes["device_name"].set_s(device_);
    attributes["tensor_name"].set_s(tensor);
    for (const std::string& url : watch.debug_urls()) attributes["debug_urls"].mutable_list()->add_s(url);
    ASSIGN_OR_RETURN(const tensorflow::OpDef* op_def, graph_.ops().LookUp(op.name));
    Attributes left = op.attributes;
    for (const auto& attr : op_def->attr()) {
      const auto given = left.extract(attr.name());
      if (!given.empty()) RETURN_IF_ERROR(SetFromText(attr, given.mapped(), &attributes[attr.name()]));
    }
    if (!left.empty()) {
      return errors::FailedPrecondition(left.size(), " attribute key(s) were not valid for debug node ", def.name(),
                                        ": ", absl::StrJoin(left, ", ", [](std::string* out, const auto& attribute) {
                                          absl::StrAppend(out, attribute.first);
                                        }));
    }
    tensorflow::NodeDef typed = def;
    (*typed.mutable_attr())["T"].set_type(static_cast<tensorflow::DataType>(copy->output_type(0)));
    RETURN_IF_ERROR(has_kernel_(typed));
    return Add(std::move(def), copy, 0);
  }

  const std::string& device_;
  const std::function<absl::Status(const tensorflow::NodeDef&)>& has_kernel_;
  Graph& graph_;
};

}  // namespace

absl::Status AddDebugNodes(const tensorflow::DebugOptions& options, const std::string& device,
                           const std::function<absl::Status(const tensorflow::NodeDef&)>& has_kernel, Graph* graph) {
  Watcher watcher(device, has_kernel, graph);
  const std::vector<Node*> nodes = graph->nodes();
  for (const DebugTensorWatch& watch : options.debug_tensor_watch_opts()) {
    const bool all = watch.node_name() == "*";
    Node* const named = all ? nullptr : graph->FindNode(watch.node_name());
    for (Node* node : all ? nodes : std::vector<Node*>{named}) {
      if (node == nullptr) continue;
      for (int slot = 0; slot < node->num_outputs(); ++slot) {
        if (watch.output_slot() == -1 || watch.output_slot() == slot) {
          RETURN_IF_ERROR(watcher.Watch(node, slot, watch));
        }
      }
    }
  }
  return absl::OkStatus();
}

std::vector<std::string> WatchUrls(const tensorflow::DebugOptions& options) {
  absl::btree_set<std::string> urls;
  for (const DebugTensorWatch& watch : options.debug_tensor_watch_opts()) {
    urls.insert(watch.debug_urls().begin(), watch.debug_urls().end());
  }
  return {urls.begin(), urls.end()};
}

}  // namespace weir
