// Fuses batch normalisation, an added side input and Relu into one node on GPUs, and the gradients of Relu and
// normalisation likewise. The ops are those that TensorFlow's optimizer creates.
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "core/device/device_name.h"
#include "core/op/attr_value.h"
#include "graph/passes/pass_manager.h"
#include "graph/shapes/shape_refiner.h"

namespace weir {
namespace {

using Names = absl::flat_hash_set<std::string>;

bool IsOnGpu(const Node& node) {
  const absl::StatusOr<DeviceName> device = DeviceName::Parse(node.assigned_device());
  return device.ok() && device->type == "GPU";
}

bool AreTogether(const Node& a, const Node& b) {
  return a.assigned_device() == b.assigned_device() && a.requested_device() == b.requested_device();
}

bool IsOfImages(const Node& node) {
  std::string format = "NHWC";
  return !GetNodeAttr(node.def(), "data_format", &format).ok() || format.size() == 4;
}

// Whether a successor of `from` precedes one of `members` on a path outside of the members: the fused node would wait
// for its own successors.
bool WouldLoop(const std::vector<Node*>& members, const Graph& graph) {
  std::vector<bool> is_seen(graph.num_node_ids()), is_member(graph.num_node_ids());
  for (const Node* member : members) is_member[member->id()] = true;
  std::vector<const Node*> pending(members.begin(), members.end());
  while (!pending.empty()) {
    const Node* const node = pending.back();
    pending.pop_back();
    for (const Edge* edge : node->out_edges()) {
      const int id = edge->dst->id();
      if (is_member[id]) {
        if (!is_member[node->id()]) return true;
        continue;
      }
      if (is_seen[id] || edge->dst->op() == "NextIteration") continue;
      is_seen[id] = true;
      pending.push_back(edge->dst);
    }
  }
  return false;
}

// The only reader of output 0 of `node`, if there is exactly one and it is not fed. Readers of its shape may use the
// fused node, whose shape is the same.
Node* OnlyReader(const Node& node, const Names& fed) {
  Node* reader = nullptr;
  for (const Edge* edge : node.out_edges()) {
    if (edge->is_control() || edge->src_output != 0 || edge->dst->op() == "Shape") continue;
    if (reader != nullptr) return nullptr;
    reader = edge->dst;
  }
  if (reader == nullptr || fed.contains(reader->name()) || !AreTogether(node, *reader)) return nullptr;
  return reader;
}

class BatchNormPass : public Pass {
 public:
  absl::string_view name() const override { return "batch_norm"; }

  absl::Status Run(const PassContext& context, Graph* graph, int* changes) const override {
    const Names kept = context.KeptNodes(), fed = context.FedNodes();
    std::optional<ShapeRefiner> shapes;  // computed on first use
    std::vector<Match> matches;
    absl::flat_hash_set<const Node*> taken;  // a sum may match two nodes
    for (Node* norm : graph->nodes()) {
      if (norm->op() != "FusedBatchNormV3" || !IsOnGpu(*norm) || !IsOfImages(*norm)) continue;
      const std::optional<Match> match = Find(norm, kept, fed, *graph, &shapes);
      if (match.has_value() && taken.insert(match->relu).second) matches.push_back(*match);
    }
    for (const Match& match : matches) {
      if (WouldLoop(match.Members(), *graph)) continue;
      ASSIGN_OR_RETURN(Node * fused, Fuse(match, graph));
      ASSIGN_OR_RETURN(const bool has_gradient, FuseGradient(*fused, kept, fed, graph));
      *changes += has_gradient ? 2 : 1;
    }
    return absl::OkStatus();
  }

 private:
  struct Match {
    Node* norm = nullptr;
    Node* sum = nullptr;  // null if there is none
    int side_input = 0;   // of the sum
    Node* relu = nullptr;

    std::vector<Node*> Members() const {
      return sum == nullptr ? std::vector<Node*>{norm, relu} : std::vector<Node*>{norm, sum, relu};
    }
  };

  static std::optional<Match> Find(Node* norm, const Names& kept, const Names& fed, const Graph& graph,
                                   std::optional<ShapeRefiner>* shapes) {
    if (kept.contains(norm->name()) || fed.contains(norm->name())) return std::nullopt;
    Match match{.norm = norm, .relu = OnlyReader(*norm, fed)};
    if (match.relu != nullptr && (match.relu->op() == "AddV2" || match.relu->op() == "Add")) {
      match.sum = match.relu;
      if (kept.contains(match.sum->name())) return std::nullopt;
      const Edge* const first = match.sum->input_edge(0);
      match.side_input = first->src == norm && first->src_output == 0 ? 1 : 0;
      if (!HasSameShape(*norm, *match.sum->input_edge(match.side_input), graph, shapes)) return std::nullopt;
      match.relu = OnlyReader(*match.sum, fed);
    }
    if (match.relu == nullptr || match.relu->op() != "Relu") return std::nullopt;
    return match;
  }

  // Sums broadcast; the fused op does not.
  static bool HasSameShape(const Node& norm, const Edge& side, const Graph& graph,
                           std::optional<ShapeRefiner>* shapes) {
    if (!shapes->has_value()) {
      ShapeOptions options;
      options.strict = false;
      absl::StatusOr<ShapeRefiner> inferred = InferShapes(graph, std::move(options));
      *shapes = inferred.ok() ? *std::move(inferred) : ShapeRefiner();
    }
    const PartialTensorShape &a = (*shapes)->shape(norm, 0), &b = (*shapes)->shape(*side.src, side.src_output);
    return a.IsFullyDefined() && b.IsFullyDefined() && a.ToString() == b.ToString();
  }

  static void CopyAttrs(const Node& from, std::initializer_list<absl::string_view> names, tensorflow::NodeDef* to) {
    for (const absl::string_view name : names) {
      if (const tensorflow::AttrValue* value = FindAttr(from.def(), name)) SetNodeAttr(name, *value, to);
    }
  }

  // Moves control edges of members to the fused node.
  static void MoveControl(const std::vector<Node*>& members, Node* node, Graph* graph) {
    for (const Node* member : members) {
      for (const Edge* edge : member->in_edges()) {
        if (edge->is_control()) graph->AddControlEdge(edge->src, node);
      }
      for (const Edge* edge : member->out_edges()) {
        if (edge->is_control()) graph->AddControlEdge(node, edge->dst);
      }
    }
  }
  // Redirects readers of `output` of `old` to the new node, except for `except`.
  static absl::Status MoveReaders(const Node& old, int output, Node* node, int new_output, const Node* except,
                                  Graph* graph) {
    const std::vector<Edge*> readers = old.out_edges();
    for (const Edge* edge : readers) {
      if (edge->is_control() || edge->src_output != output || edge->dst == except) continue;
      RETURN_IF_ERROR(graph->ReplaceInput(edge->dst, edge->dst_input, node, new_output));
    }
    return absl::OkStatus();
  }
  static absl::Status MoveShapes(const Node& old, Node* node, Graph* graph) {
    const std::vector<Edge*> readers = old.out_edges();
    for (const Edge* edge : readers) {
      if (edge->is_control() || edge->src_output != 0 || edge->dst->op() != "Shape") continue;
      RETURN_IF_ERROR(graph->ReplaceInput(edge->dst, edge->dst_input, node, 0));
    }
    return absl::OkStatus();
  }
  static absl::Status Replace(const std::vector<Node*>& members, const Node& last, Node* node, Graph* graph) {
    MoveControl(members, node, graph);
    const std::string name = last.name();
    for (Node* member : members) graph->RemoveNode(member);
    return graph->RenameNode(node, name);
  }

  // The fused node takes the name of the last member.
  static absl::StatusOr<Node*> Fuse(const Match& match, Graph* graph) {
    tensorflow::NodeDef def;
    def.set_name(graph->UniqueName(absl::StrCat(match.relu->name(), "/fused")));
    def.set_op("_FusedBatchNormEx");
    def.set_device(match.norm->requested_device());
    CopyAttrs(*match.norm, {"T", "U", "epsilon", "exponential_avg_factor", "data_format", "is_training"}, &def);
    SetNodeAttr("num_side_inputs", int64_t{match.sum != nullptr}, &def);
    SetNodeAttr("activation_mode", std::string("Relu"), &def);
    ASSIGN_OR_RETURN(Node * node, graph->AddNode(std::move(def)));
    node->set_assigned_device(match.norm->assigned_device());
    std::vector<const Edge*> inputs;
    for (int i = 0; i < 5; ++i) inputs.push_back(match.norm->input_edge(i));
    if (match.sum != nullptr) inputs.push_back(match.sum->input_edge(match.side_input));
    for (size_t i = 0; i < inputs.size(); ++i) {
      RETURN_IF_ERROR(graph->AddEdge(inputs[i]->src, inputs[i]->src_output, node, static_cast<int>(i)).status());
    }
    RETURN_IF_ERROR(MoveReaders(*match.relu, 0, node, 0, nullptr, graph));
    for (int i = 1; i < 6; ++i) RETURN_IF_ERROR(MoveReaders(*match.norm, i, node, i, nullptr, graph));
    for (const Node* between : {match.norm, match.sum}) {
      if (between != nullptr) RETURN_IF_ERROR(MoveShapes(*between, node, graph));
    }
    RETURN_IF_ERROR(Replace(match.Members(), *match.relu, node, graph));
    return node;
  }

  // Fuses the gradient if it passes through ReluGrad of the fused node's output.
  static absl::StatusOr<bool> FuseGradient(const Node& fused, const Names& kept, const Names& fed, Graph* graph) {
    Node* grad = nullptr;
    for (const Edge* edge : fused.out_edges()) {
      if (!edge->is_control() && edge->dst->op() == "FusedBatchNormGradV3" && edge->dst_input == 3) grad = edge->dst;
    }
    if (grad == nullptr || !IsGradientOf(*grad, fused) || fed.contains(grad->name())) return false;
    Node* const relu = grad->input_edge(0)->src;
    const bool is_relu = relu->op() == "ReluGrad" && relu->input_edge(1)->src == &fused &&
                         relu->input_edge(1)->src_output == 0 && AreTogether(*relu, fused) &&
                         AreTogether(*grad, fused) && grad->input_edge(2)->src != relu &&
                         !kept.contains(relu->name()) && !fed.contains(relu->name());
    if (!is_relu || WouldLoop({relu, grad}, *graph)) return false;
    bool is_read = false;
    for (const Edge* edge : relu->out_edges()) is_read |= !edge->is_control() && edge->dst != grad;

    tensorflow::NodeDef def;
    def.set_name(graph->UniqueName(absl::StrCat(grad->name(), "/fused")));
    def.set_op("_FusedBatchNormGradEx");
    def.set_device(grad->requested_device());
    CopyAttrs(*grad, {"T", "U", "epsilon", "data_format", "is_training"}, &def);
    SetNodeAttr("num_side_inputs", int64_t{is_read}, &def);
    SetNodeAttr("activation_mode", std::string("Relu"), &def);
    ASSIGN_OR_RETURN(Node * node, graph->AddNode(std::move(def)));
    node->set_assigned_device(grad->assigned_device());
    const Edge* const offset = fused.input_edge(2);
    std::vector<std::pair<Node*, int>> inputs = {{relu->input_edge(0)->src, relu->input_edge(0)->src_output}};
    for (int i = 1; i < 6; ++i) inputs.emplace_back(grad->input_edge(i)->src, grad->input_edge(i)->src_output);
    inputs.emplace_back(offset->src, offset->src_output);
    inputs.emplace_back(relu->input_edge(1)->src, 0);
    for (size_t i = 0; i < inputs.size(); ++i) {
      RETURN_IF_ERROR(graph->AddEdge(inputs[i].first, inputs[i].second, node, static_cast<int>(i)).status());
    }
    for (int i = 0; i < 5; ++i) RETURN_IF_ERROR(MoveReaders(*grad, i, node, i, nullptr, graph));
    RETURN_IF_ERROR(MoveReaders(*relu, 0, node, 5, grad, graph));
    RETURN_IF_ERROR(Replace({relu, grad}, *grad, node, graph));
    return true;
  }

  static bool IsGradientOf(const Node& grad, const Node& fused) {
    if (grad.output_type(0) == DT_BFLOAT16 || !IsOfImages(grad)) return false;
    for (int i = 3; i < 6; ++i) {
      if (grad.input_edge(i)->src != &fused || grad.input_edge(i)->src_output != i) return false;
    }
    const Edge *const x = fused.input_edge(0), *const of = grad.input_edge(1);
    return of->src == x->src && of->src_output == x->src_output;
  }
};

}  // namespace

std::unique_ptr<Pass> MakeBatchNormPass() { return std::make_unique<BatchNormPass>(); }

}  // namespace weir
