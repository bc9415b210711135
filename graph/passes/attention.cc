// softmax(q k' scale + mask) v becomes one node, whose kernel never holds all scores.
#include <cmath>
#include <optional>
#include <utility>

#include "core/attr_value.h"
#include "core/device_name.h"
#include "core/float16.h"
#include "core/numeric_types.h"
#include "core/tensor_proto.h"
#include "graph/passes/pass_manager.h"

namespace weir {
namespace {

struct Match {
  Node* product = nullptr;  // of queries and keys
  std::vector<Node*> between;
  Node* softmax = nullptr;
  Node* mix = nullptr;  // of weights and values: the last
  float scale = 1;
  const Node* sum = nullptr;  // of scores and mask; none, if null
  int mask_input = 0;

  std::vector<Node*> Members() const {
    std::vector<Node*> members = {mix, softmax};
    members.insert(members.end(), between.begin(), between.end());
    members.push_back(product);
    return members;
  }
};

bool HasKernel(const Node& node) {
  if (node.output_type(0) != DT_FLOAT && node.output_type(0) != DT_HALF && node.output_type(0) != DT_BFLOAT16) {
    return false;
  }
  if (node.assigned_device().empty()) return true;
  const absl::StatusOr<DeviceName> device = DeviceName::Parse(node.assigned_device());
  return device.ok() && (device->type == "CPU" || device->type == "GPU");
}

bool IsSet(const Node& node, absl::string_view attr) {
  bool value = false;
  return GetNodeAttr(node.def(), attr, &value).ok() && value;
}

// A constant scalar's value, if it is finite.
std::optional<float> ScalarOf(const Node& node) {
  const tensorflow::AttrValue* const value = node.op() == "Const" ? FindAttr(node.def(), "value") : nullptr;
  if (value == nullptr || !value->has_tensor()) return std::nullopt;
  const absl::StatusOr<Tensor> tensor = TensorFromProto(value->tensor());
  if (!tensor.ok() || tensor->dims() != 0) return std::nullopt;
  float scalar = NAN;
  if (tensor->dtype() == DT_FLOAT) scalar = tensor->scalar<float>();
  if (tensor->dtype() == DT_HALF) scalar = static_cast<float>(tensor->scalar<half>());
  if (tensor->dtype() == DT_BFLOAT16) scalar = static_cast<float>(tensor->scalar<bfloat16>());
  return std::isfinite(scalar) ? std::optional<float>(scalar) : std::nullopt;
}

class AttentionPass : public Pass {
 public:
  absl::string_view name() const override { return "attention"; }

  absl::Status Run(const PassContext& context, Graph* graph, int* changes) const override {
    const absl::flat_hash_set<std::string> kept = context.KeptNodes(), fed = context.FedNodes();
    std::vector<Match> matches;
    absl::flat_hash_set<const Node*> taken;  // the last node of one may be the first of another
    for (Node* node : graph->nodes()) {
      std::optional<Match> match = Find(node, kept, fed);
      if (!match.has_value() || taken.contains(match->mix) || taken.contains(match->product)) continue;
      taken.insert(match->mix);
      taken.insert(match->product);
      matches.push_back(*std::move(match));
    }
    for (const Match& match : matches) RETURN_IF_ERROR(Fuse(match, graph));
    *changes += static_cast<int>(matches.size());
    return absl::OkStatus();
  }

 private:
  using Names = absl::flat_hash_set<std::string>;

  // What input `input` of `node` reads, if that may become one with it: nobody else reads it, waits for it, replaces it
  // or asks for its value, and both are on one device.
  static Node* OnlyFor(const Node& node, int input, const Names& kept, const Names& fed) {
    const Edge* const edge = node.input_edge(input);
    if (edge == nullptr || edge->src_output != 0) return nullptr;
    Node* const source = edge->src;
    if (source->out_edges().size() != 1 || source->num_outputs() != 1 || kept.contains(source->name()) ||
        fed.contains(source->name())) {
      return nullptr;
    }
    const bool together =
        source->assigned_device() == node.assigned_device() && source->requested_device() == node.requested_device();
    return together && source->output_types() == node.output_types() ? source : nullptr;
  }

  // From the last node to the first.
  static std::optional<Match> Find(Node* mix, const Names& kept, const Names& fed) {
    if (mix->op() != "BatchMatMulV2" || IsSet(*mix, "adj_x") || IsSet(*mix, "adj_y") || fed.contains(mix->name()) ||
        !HasKernel(*mix)) {
      return std::nullopt;
    }
    Match match{.softmax = OnlyFor(*mix, 0, kept, fed), .mix = mix};
    if (match.softmax == nullptr || match.softmax->op() != "Softmax") return std::nullopt;
    // Either operand of a sum may be the scores, and so with products.
    for (const int i : {0, 1}) {
      const Node* at = match.softmax;
      match.between.clear();
      match.sum = nullptr;
      int input = 0;
      if (Node* const sum = OnlyFor(*at, 0, kept, fed);
          sum != nullptr && (sum->op() == "AddV2" || sum->op() == "Add")) {
        match.between.push_back(sum);
        if (sum->input_edge(1 - i) == nullptr) continue;
        match.sum = at = sum;
        match.mask_input = 1 - i;
        input = i;
      }
      if (FindScores(*at, input, kept, fed, &match)) return match;
    }
    return std::nullopt;
  }

  // The product of queries and keys, as it is or with a scalar.
  static bool FindScores(const Node& reader, int input, const Names& kept, const Names& fed, Match* match) {
    Node* const scores = OnlyFor(reader, input, kept, fed);
    if (scores == nullptr) return false;
    if (SetProduct(scores, match)) return true;
    const bool divides = scores->op() == "RealDiv" || scores->op() == "Div";
    if (!divides && scores->op() != "Mul") return false;
    for (const int i : {0, 1}) {
      const Edge* const factor = scores->input_edge(1 - i);
      if (factor == nullptr || (divides && i == 1) || fed.contains(factor->src->name())) continue;
      const std::optional<float> scalar = ScalarOf(*factor->src);
      Node* const product = OnlyFor(*scores, i, kept, fed);
      if (!scalar.has_value() || product == nullptr || !SetProduct(product, match)) continue;
      match->scale = divides ? 1 / *scalar : *scalar;
      match->between.push_back(scores);
      return std::isfinite(match->scale);
    }
    return false;
  }

  static bool SetProduct(Node* node, Match* match) {
    if (node->op() != "BatchMatMulV2" || IsSet(*node, "adj_x")) return false;
    match->product = node;
    return true;
  }

  // The new node has the last one's name and readers, and waits for what any of them waited for.
  static absl::Status Fuse(const Match& match, Graph* graph) {
    tensorflow::NodeDef def;
    def.set_name(graph->UniqueName(absl::StrCat(match.mix->name(), "/fused")));
    def.set_op("_FusedAttention");
    def.set_device(match.mix->requested_device());
    SetNodeAttr("T", match.mix->output_type(0), &def);
    SetNodeAttr("num_masks", int64_t{match.sum != nullptr}, &def);
    SetNodeAttr("scale", match.scale, &def);
    SetNodeAttr("transpose_k", IsSet(*match.product, "adj_y"), &def);
    ASSIGN_OR_RETURN(Node * node, graph->AddNode(std::move(def)));
    node->set_assigned_device(match.mix->assigned_device());

    std::vector<const Edge*> inputs = {match.product->input_edge(0), match.product->input_edge(1),
                                       match.mix->input_edge(1)};
    if (match.sum != nullptr) inputs.push_back(match.sum->input_edge(match.mask_input));
    for (size_t i = 0; i < inputs.size(); ++i) {
      RETURN_IF_ERROR(graph->AddEdge(inputs[i]->src, inputs[i]->src_output, node, static_cast<int>(i)).status());
    }
    const std::vector<Node*> old = match.Members();
    for (const Node* member : old) {
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
    const std::string name = match.mix->name();
    for (Node* member : old) graph->RemoveNode(member);
    return graph->RenameNode(node, name);
  }
};

}  // namespace

std::unique_ptr<Pass> MakeAttentionPass() { return std::make_unique<AttentionPass>(); }

}  // namespace weir
