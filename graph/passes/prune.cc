// Removes nodes that no fetch or target needs.
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "core/op/attr_value.h"
#include "graph/graph_import.h"
#include "graph/passes/pass_manager.h"

namespace weir {
namespace {

class PrunePass : public Pass {
 public:
  absl::string_view name() const override { return "prune"; }
  absl::Status Run(const PassContext& context, Graph* graph, int* changes) const override;
};

// A fed node with one output needs no inputs. Except for references: an op may write to them.
bool IsReplacedByFeed(const Node& node) {
  return node.num_outputs() == 1 && node.num_inputs() > 0 && !IsRefType(node.output_type(0));
}

absl::Status ReplaceByPlaceholder(Node* node, Graph* graph) {
  tensorflow::NodeDef def;
  def.set_name(graph->UniqueName(absl::StrCat(node->name(), "/feed")));
  def.set_op("Placeholder");
  def.set_device(node->requested_device());
  SetNodeAttr("dtype", node->output_type(0), &def);
  ASSIGN_OR_RETURN(Node * feed, graph->AddNode(std::move(def)));
  feed->set_assigned_device(node->assigned_device());
  const std::vector<Edge*> users = node->out_edges();
  for (const Edge* edge : users) {
    Node* user = edge->dst;
    if (edge->is_control()) {
      graph->AddControlEdge(feed, user);
    } else {
      RETURN_IF_ERROR(graph->ReplaceInput(user, edge->dst_input, feed, 0));
    }
  }
  const std::string name = node->name();
  graph->RemoveNode(node);
  return graph->RenameNode(feed, name);
}

absl::Status PrunePass::Run(const PassContext& context, Graph* graph, int* changes) const {
  const absl::flat_hash_set<std::string> fed = context.FedNodes();
  absl::flat_hash_set<std::string> roots = context.KeptNodes();
  roots.insert(fed.begin(), fed.end());
  for (const std::string& name : roots) {
    if (graph->FindNode(name) == nullptr) return errors::NotFound("Node '", name, "' is not in the graph");
  }
  for (const std::string& name : fed) {
    Node* node = graph->FindNode(name);
    if (!IsReplacedByFeed(*node)) continue;
    RETURN_IF_ERROR(ReplaceByPlaceholder(node, graph));
    ++*changes;
  }
  std::vector<bool> needed(graph->num_node_ids(), false);
  std::vector<const Node*> open;
  auto need = [&](const Node* node) {
    if (!needed[node->id()]) open.push_back(node);
    needed[node->id()] = true;
  };
  for (const std::string& name : roots) need(graph->FindNode(name));
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    for (const Edge* edge : node->in_edges()) need(edge->src);
  }
  for (Node* node : graph->nodes()) {
    if (needed[node->id()]) continue;
    graph->RemoveNode(node);
    ++*changes;
  }
  return absl::OkStatus();
}

}  // namespace

std::unique_ptr<Pass> MakePrunePass() { return std::make_unique<PrunePass>(); }

}  // namespace weir
