// Fuses softmax(q k' scale + mask) v into one node, whose kernel never stores all scores, and does the same for its
// gradient.
#include <optional>
#include <utility>

#include "core/op/attr_value.h"
#include "graph/passes/attention_match.h"
#include "graph/passes/pass_manager.h"

namespace weir {
namespace {

// The number of statistics per row of scores: the maximum and the sum of exponentials.
constexpr int64_t kStatistics = 2;

class AttentionPass : public Pass {
 public:
  absl::string_view name() const override { return "attention"; }

  absl::Status Run(const PassContext& context, Graph* graph, int* changes) const override {
    absl::flat_hash_set<std::string> fixed = context.KeptNodes();
    fixed.merge(context.FedNodes());
    const absl::flat_hash_set<std::string> fed = context.FedNodes();
    for (int id = 0, end = graph->num_node_ids(); id < end; ++id) {
      Node* const mix = graph->node(id);
      if (mix == nullptr || fed.contains(mix->name())) continue;
      for (const AttentionMatch& match : FindAttention(mix, fixed)) {
        ASSIGN_OR_RETURN(const bool is_fused, Fuse(match, fixed, graph));
        *changes += is_fused;
        if (is_fused) break;
      }
    }
    return absl::OkStatus();
  }

 private:
  // Returns false, without changes, if other nodes read intermediate values.
  static absl::StatusOr<bool> Fuse(const AttentionMatch& match, const absl::flat_hash_set<std::string>& fixed,
                                   Graph* graph) {
    if (IsReadInsideAlone(match)) {
      ASSIGN_OR_RETURN(Node * attention, AddAttention(match, /*num_statistics=*/0, graph));
      RETURN_IF_ERROR(TakePlace(match, attention, graph));
      return true;
    }
    const std::optional<AttentionGradientMatch> gradient = FindAttentionGradient(match, *graph, fixed);
    if (!gradient.has_value()) return false;
    ASSIGN_OR_RETURN(Node * attention, AddAttention(match, kStatistics, graph));
    for (Node* shape : gradient->shapes) RETURN_IF_ERROR(AskForShape(match, shape, graph));
    RETURN_IF_ERROR(ReplaceGradient(match, *gradient, fixed, attention, graph));
    RETURN_IF_ERROR(TakePlace(match, attention, graph));
    return true;
  }

  static tensorflow::NodeDef DefOf(const AttentionMatch& match, const std::string& name, absl::string_view op) {
    tensorflow::NodeDef def;
    def.set_name(name);
    def.set_op(std::string(op));
    def.set_device(match.mix->requested_device());
    SetNodeAttr("T", match.mix->output_type(0), &def);
    SetNodeAttr("num_masks", int64_t{match.sum != nullptr}, &def);
    SetNodeAttr("transpose_k", match.transposes_keys(), &def);
    return def;
  }
  // Connects queries, keys, values and the mask, from input 0 on.
  static absl::Status Connect(const std::vector<const Edge*>& inputs, Node* node, Graph* graph) {
    int to = 0;
    for (const Edge* edge : inputs) {
      if (edge == nullptr) continue;  // no mask
      RETURN_IF_ERROR(graph->AddEdge(edge->src, edge->src_output, node, to++).status());
    }
    return absl::OkStatus();
  }

  // Adds a node with the last member's outputs; it waits for the control inputs of all members.
  static absl::StatusOr<Node*> AddAttention(const AttentionMatch& match, int64_t num_statistics, Graph* graph) {
    tensorflow::NodeDef def =
        DefOf(match, graph->UniqueName(absl::StrCat(match.mix->name(), "/fused")), "_FusedAttention");
    SetNodeAttr("scale", match.scale, &def);
    SetNodeAttr("num_statistics", num_statistics, &def);
    ASSIGN_OR_RETURN(Node * node, graph->AddNode(std::move(def)));
    node->set_assigned_device(match.mix->assigned_device());
    RETURN_IF_ERROR(Connect({match.queries(), match.keys(), match.values(), match.mask()}, node, graph));
    for (const Node* member : match.Members()) {
      for (const Edge* edge : member->in_edges()) {
        if (edge->is_control()) graph->AddControlEdge(edge->src, node);
      }
    }
    const std::vector<Edge*> readers = match.mix->out_edges();
    for (const Edge* edge : readers) {
      if (edge->is_control()) {
        graph->AddControlEdge(node, edge->dst);
      } else {
        RETURN_IF_ERROR(graph->ReplaceInput(edge->dst, edge->dst_input, node, 0));
      }
    }
    return node;
  }
  // Gives the new node the last member's name.
  static absl::Status TakePlace(const AttentionMatch& match, Node* attention, Graph* graph) {
    const std::string name = match.mix->name();
    for (Node* member : match.Members()) graph->RemoveNode(member);
    return graph->RenameNode(attention, name);
  }

  // Computes the shape of the scores without the scores.
  static absl::Status AskForShape(const AttentionMatch& match, Node* shape, Graph* graph) {
    const Node* const of = shape->input_edge(0)->src;
    const bool is_masked = of == match.softmax || of == match.sum;
    tensorflow::NodeDef def = DefOf(match, shape->name(), "_AttentionScoresShape");
    def.set_device(shape->requested_device());
    if (!is_masked) SetNodeAttr("num_masks", int64_t{0}, &def);
    SetNodeAttr("out_type", shape->output_type(0), &def);
    std::vector<Node*> awaited;
    for (const Edge* edge : shape->in_edges()) {
      if (edge->is_control()) awaited.push_back(edge->src);
    }
    RETURN_IF_ERROR(graph->ChangeOp(shape, std::move(def)));
    for (Node* node : awaited) graph->AddControlEdge(node, shape);
    return Connect({match.queries(), match.keys(), is_masked ? match.mask() : nullptr}, shape, graph);
  }

  static absl::Status ReplaceGradient(const AttentionMatch& match, const AttentionGradientMatch& gradient,
                                      const absl::flat_hash_set<std::string>& fixed, Node* attention, Graph* graph) {
    tensorflow::NodeDef def =
        DefOf(match, graph->UniqueName(absl::StrCat(gradient.of_weights->name(), "/fused")), "_FusedAttentionGrad");
    SetNodeAttr("scale", match.scale, &def);
    SetNodeAttr("sums_weights", gradient.sums_weights, &def);
    SetNodeAttr("sums_scores", gradient.sums_scores, &def);
    ASSIGN_OR_RETURN(Node * node, graph->AddNode(std::move(def)));
    node->set_assigned_device(match.mix->assigned_device());
    RETURN_IF_ERROR(Connect({match.queries(), match.keys(), match.values(), match.mask()}, node, graph));
    int to = match.sum == nullptr ? 3 : 4;
    for (int i = 0; i <= kStatistics; ++i) RETURN_IF_ERROR(graph->AddEdge(attention, i, node, to++).status());
    const Edge* const dy = gradient.of_weights->input_edge(0);
    RETURN_IF_ERROR(graph->AddEdge(dy->src, dy->src_output, node, to).status());

    Node* const results[] = {gradient.of_queries, gradient.of_keys, gradient.of_values};
    for (int i = 0; i < 3; ++i) {
      if (results[i] == nullptr) continue;
      const std::vector<Edge*> readers = results[i]->out_edges();
      for (const Edge* edge : readers) {
        if (edge->is_control()) {
          graph->AddControlEdge(node, edge->dst);
        } else {
          RETURN_IF_ERROR(graph->ReplaceInput(edge->dst, edge->dst_input, node, i));
        }
      }
    }
    std::vector<Node*> waited_for = match.Inner();
    waited_for.insert(waited_for.end(), gradient.members.begin(), gradient.members.end());
    for (const Node* member : waited_for) {
      const std::vector<Edge*> readers = member->out_edges();
      for (const Edge* edge : readers) {
        if (edge->is_control()) graph->AddControlEdge(node, edge->dst);
      }
    }
    std::vector<int> sources;
    for (Node* member : gradient.members) AddSources(*member, &sources);
    for (Node* member : gradient.members) graph->RemoveNode(member);
    RemoveUnread(std::move(sources), fixed, graph);
    return absl::OkStatus();
  }
  static void AddSources(const Node& node, std::vector<int>* ids) {
    for (const Edge* edge : node.in_edges()) ids->push_back(edge->src->id());
  }
  // Removes those of `ids` that only controlled reductions or ordering of the members.
  static void RemoveUnread(std::vector<int> ids, const absl::flat_hash_set<std::string>& fixed, Graph* graph) {
    static const auto* const ops = new absl::flat_hash_set<std::string>{
        "BroadcastGradientArgs", "StridedSlice", "Shape", "_AttentionScoresShape", "Const", "NoOp"};
    while (!ids.empty()) {
      Node* const node = graph->node(ids.back());
      ids.pop_back();
      if (node == nullptr || !node->out_edges().empty() || !ops->contains(node->op()) || fixed.contains(node->name())) {
        continue;
      }
      AddSources(*node, &ids);
      graph->RemoveNode(node);
    }
  }
};

}  // namespace

std::unique_ptr<Pass> MakeAttentionPass() { return std::make_unique<AttentionPass>(); }

}  // namespace weir
