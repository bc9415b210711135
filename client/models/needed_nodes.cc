#include "client/models/needed_nodes.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "graph/function_library.h"
#include "graph/graph_import.h"
#include "tensorflow/core/framework/function.pb.h"
#include "tensorflow/core/framework/graph.pb.h"

namespace weir {
namespace {

using tensorflow::GraphDef;
using tensorflow::NodeDef;

// The names that may be functions: the node's op, and functions in its attributes.
void AddCalls(const NodeDef& node, std::vector<std::string>* calls) {
  calls->push_back(node.op());
  for (const auto& [name, value] : node.attr()) {
    if (value.has_func()) calls->push_back(value.func().name());
    for (const auto& function : value.list().func()) calls->push_back(function.name());
  }
}

absl::Status KeepCalledFunctions(GraphDef* graph) {
  FunctionLibrary functions;
  RETURN_IF_ERROR(functions.AddLibrary(graph->library()));
  std::vector<std::string> calls;
  for (const NodeDef& node : graph->node()) AddCalls(node, &calls);
  *graph->mutable_library() = functions.ReachableFrom(calls).ToProto();
  return absl::OkStatus();
}

void ClearDevice(NodeDef* node) {
  node->clear_device();
  node->mutable_attr()->erase("_class");
}

}  // namespace

absl::Status KeepNeededNodes(const std::vector<std::string>& roots, GraphDef* graph) {
  absl::flat_hash_map<std::string, int> index;
  for (int i = 0; i < graph->node_size(); ++i) index.emplace(graph->node(i).name(), i);
  std::vector<bool> needed(graph->node_size(), false);
  std::vector<int> waiting;
  const auto need = [&](absl::string_view name, absl::string_view by) -> absl::Status {
    const auto found = index.find(name);
    if (found == index.end()) {
      return errors::NotFound("The graph has no node '", name, "'", by.empty() ? "" : ", which is an input of ", by);
    }
    if (!needed[found->second]) waiting.push_back(found->second);
    needed[found->second] = true;
    return absl::OkStatus();
  };
  for (const std::string& root : roots) RETURN_IF_ERROR(need(root, ""));
  while (!waiting.empty()) {
    const NodeDef& node = graph->node(waiting.back());
    waiting.pop_back();
    for (const std::string& input : node.input()) {
      const std::optional<InputRef> ref = ParseInputRef(input);
      if (!ref.has_value()) return errors::InvalidArgument("Node '", node.name(), "': Malformed input '", input, "'");
      RETURN_IF_ERROR(need(ref->node, node.name()));
    }
  }
  int kept = 0;
  for (int i = 0; i < graph->node_size(); ++i) {
    if (needed[i]) graph->mutable_node()->SwapElements(i, kept++);
  }
  graph->mutable_node()->DeleteSubrange(kept, graph->node_size() - kept);
  return KeepCalledFunctions(graph);
}

std::string NodeOfTensor(const std::string& tensor) { return tensor.substr(0, tensor.find(':')); }

void ClearDevices(GraphDef* graph) {
  for (NodeDef& node : *graph->mutable_node()) ClearDevice(&node);
  for (auto& function : *graph->mutable_library()->mutable_function()) {
    for (NodeDef& node : *function.mutable_node_def()) ClearDevice(&node);
  }
}

}  // namespace weir
