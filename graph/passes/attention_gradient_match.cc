// Matches an attention's gradient, starting from the readers of its weights.
#include <algorithm>

#include "absl/types/span.h"
#include "core/op/attr_value.h"
#include "core/tensor/index_tensor.h"
#include "core/tensor/tensor_proto.h"
#include "graph/passes/attention_match.h"
#include "graph/passes/attention_parts.h"

namespace weir {
namespace {

bool IsSame(const Edge* a, const Edge* b) {
  return a != nullptr && b != nullptr && a->src == b->src && a->src_output == b->src_output;
}
bool Reads(const Node& node, int input, const Node* source) {
  return node.num_inputs() > input && node.input_edge(input) != nullptr && node.input_edge(input)->src == source;
}

// The integers of a constant; nullopt for other nodes.
std::optional<DimVector> ConstantOf(const Edge* edge) {
  if (edge == nullptr || !edge->src->IsConstant()) return std::nullopt;
  const tensorflow::AttrValue* const value = FindAttr(edge->src->def(), "value");
  if (value == nullptr || !value->has_tensor()) return std::nullopt;
  const absl::StatusOr<Tensor> tensor = TensorFromProto(value->tensor());
  if (!tensor.ok() || (tensor->dtype() != DT_INT32 && tensor->dtype() != DT_INT64)) return std::nullopt;
  absl::StatusOr<DimVector> integers = ReadIntegers(*tensor);
  return integers.ok() ? std::optional<DimVector>(*std::move(integers)) : std::nullopt;
}

// Whether `edge` carries the shape of the tensor of `of`. The shape of a constant may have been folded.
bool IsShapeOf(const Edge* edge, const Edge* of) {
  if (edge == nullptr || of == nullptr) return false;
  if (edge->src->op() == "Shape") return IsSame(edge->src->input_edge(0), of);
  return edge->src->IsConstant() && of->src->IsConstant();
}

// The same for all dimensions but the last two.
bool IsBatchOf(const Edge* edge, const Edge* of) {
  if (edge == nullptr || of == nullptr) return false;
  const Node& slice = *edge->src;
  if (slice.IsConstant()) return of->src->IsConstant();
  if (slice.op() != "StridedSlice" || slice.num_inputs() != 4 || !IsShapeOf(slice.input_edge(0), of)) return false;
  int64_t begin_mask = 0, end_mask = 0, ellipsis = 0, new_axis = 0, shrink = 0;
  const bool has_masks = GetNodeAttr(slice.def(), "begin_mask", &begin_mask).ok() &&
                         GetNodeAttr(slice.def(), "end_mask", &end_mask).ok() &&
                         GetNodeAttr(slice.def(), "ellipsis_mask", &ellipsis).ok() &&
                         GetNodeAttr(slice.def(), "new_axis_mask", &new_axis).ok() &&
                         GetNodeAttr(slice.def(), "shrink_axis_mask", &shrink).ok();
  const std::optional<DimVector> begin = ConstantOf(slice.input_edge(1)), end = ConstantOf(slice.input_edge(2)),
                                 stride = ConstantOf(slice.input_edge(3));
  return has_masks && (end_mask | ellipsis | new_axis | shrink) == 0 && begin.has_value() &&
         (begin_mask == 1 || (begin->size() == 1 && (*begin)[0] == 0)) && end == DimVector({-2}) &&
         stride == DimVector({1});
}

bool IsGate(const Node& node) { return node.op() == "NoOp"; }

// TensorFlow's optimizers delay an op's gradients until all of them are computed: a NoOp waits for them, and their
// consumers wait for it, through Identity nodes. So unused gradients, such as that of a constant scale, are computed
// too.
class Finder {
 public:
  Finder(const AttentionMatch& forward, const absl::flat_hash_set<std::string>& fixed)
      : forward_(forward), fixed_(fixed) {}

  std::optional<AttentionGradientMatch> Find() {
    if (!SeeReaders() || !FindSoftmaxGradient() || !FindResults() || !AreFree()) return std::nullopt;
    return match_;
  }

 private:
  // Collects the readers of the attention's inner nodes.
  bool SeeReaders() {
    const std::vector<Node*> members = forward_.Members();
    for (const Node* inner : forward_.Inner()) {
      for (const Edge* edge : inner->out_edges()) {
        Node* const reader = edge->dst;
        if (edge->is_control() ? IsGate(*reader) : TakeIdle(reader, 0)) continue;
        if (edge->is_control()) return false;
        if (reader->op() == "Shape") {
          match_.shapes.push_back(reader);
        } else if (inner == forward_.softmax && reader != forward_.mix) {
          if (!SeeReaderOfWeights(reader, edge->dst_input)) return false;
        } else if (std::find(members.begin(), members.end(), reader) == members.end()) {
          return false;
        }
      }
    }
    return !Reads(*forward_.mix, 1, forward_.softmax) && products_.size() == 2;
  }
  bool SeeReaderOfWeights(Node* reader, int input) {
    if (reader->op() == "Mul") {
      products_.push_back(reader);
      return reader->input_edge(1 - input) != nullptr;
    }
    if (reader->op() != "BatchMatMulV2" || input != 0 || !IsSet(*reader, "adj_x") || IsSet(*reader, "adj_y") ||
        match_.of_values != nullptr) {
      return false;
    }
    match_.of_values = reader;
    return true;
  }

  // Whether the result of `node` is unused except that NoOps wait for it; then it can be removed.
  bool TakeIdle(Node* node, int depth) {
    static const auto* const ops =
        new absl::flat_hash_set<std::string>{"Mul", "Neg", "RealDiv", "Div", "Sum", "Reshape", "Identity"};
    constexpr int kMaxDepth = 8;
    if (idle_.contains(node)) return true;
    if (depth > kMaxDepth || !ops->contains(node->op()) || fixed_.contains(node->name())) return false;
    const std::vector<Edge*>& readers = node->out_edges();
    const bool is_idle = std::all_of(readers.begin(), readers.end(), [&](const Edge* edge) {
      return edge->is_control() ? IsGate(*edge->dst) : TakeIdle(edge->dst, depth + 1);
    });
    if (is_idle) {
      idle_.insert(node);
      Take({node});
    }
    return is_idle;
  }

  const Edge* OtherThanWeights(const Node& product) const {
    return product.input_edge(Reads(product, 0, forward_.softmax) ? 1 : 0);
  }

  // (d - sum(d w)) w, where d is the gradient of the weights.
  bool FindSoftmaxGradient() {
    for (const int i : {0, 1}) {
      Node* const outer = products_[i];
      Node* const inner = products_[1 - i];
      Node* const difference = OtherThanWeights(*outer)->src;
      if (outer == inner || difference->op() != "Sub") continue;
      const Edge* const gradient = difference->input_edge(0);
      const Edge* const total = difference->input_edge(1);
      if (gradient == nullptr || total == nullptr || !IsSame(OtherThanWeights(*inner), gradient)) continue;
      if (total->src->op() != "Sum" || !IsSet(*total->src, "keep_dims") || !Reads(*total->src, 0, inner) ||
          ConstantOf(total->src->input_edge(1)) != DimVector({-1})) {
        continue;
      }
      Take({outer, inner, difference, total->src});
      at_ = outer;
      return FindGradientOfWeights(gradient->src);
    }
    return false;
  }

  // dy v', possibly summed to the shape of the weights.
  bool FindGradientOfWeights(Node* node) {
    while (node->op() == "Identity" && node->input_edge(0) != nullptr) {
      Take({node});
      node = node->input_edge(0)->src;
    }
    if (node->op() == "Reshape") {
      Node* const reshaped = node;
      node = SummedBy(*reshaped, forward_.mix->input_edge(0), [this](const Edge* other, const Edge* own) {
        return IsBatchOf(own, forward_.mix->input_edge(0)) && IsBatchOf(other, forward_.values());
      });
      if (node == nullptr) return false;
      Take({reshaped, reshaped->input_edge(0)->src});
      match_.sums_weights = true;
    }
    if (node->op() != "BatchMatMulV2" || IsSet(*node, "adj_x") || !IsSet(*node, "adj_y") ||
        node->input_edge(0) == nullptr || !IsSame(node->input_edge(1), forward_.values())) {
      return false;
    }
    if (match_.of_values != nullptr && !IsSame(match_.of_values->input_edge(1), node->input_edge(0))) return false;
    match_.of_weights = node;
    Take({node});
    return true;
  }

  // The node whose output is summed by Reshape(Sum(.., BroadcastGradientArgs(own, other)), shape), where `shape` is
  // that of `target` and `fits(other, own)`; otherwise null.
  template <typename Fits>
  static Node* SummedBy(const Node& reshape, const Edge* target, Fits fits) {
    const Edge* const summed = reshape.input_edge(0);
    if (summed == nullptr || summed->src->op() != "Sum" || !IsShapeOf(reshape.input_edge(1), target)) return nullptr;
    const Edge* const axes = summed->src->input_edge(1);
    if (axes == nullptr || axes->src->op() != "BroadcastGradientArgs" || summed->src->input_edge(0) == nullptr) {
      return nullptr;
    }
    const Node& args = *axes->src;
    if (!fits(args.input_edge(1 - axes->src_output), args.input_edge(axes->src_output))) return nullptr;
    return summed->src->input_edge(0)->src;
  }

  // From the gradient of the masked scores to those of queries and keys.
  bool FindResults() {
    if (forward_.sum != nullptr && !PassSum(*forward_.sum, 1 - forward_.mask_input, /*is_mask=*/true)) return false;
    if (forward_.scaled != nullptr) {
      if (!PassScale()) return false;
      if (!PassSum(*forward_.scaled, 1 - forward_.scalar_input, /*is_mask=*/false)) return false;
    }
    SkipIdentities();
    for (const Edge* edge : at_->out_edges()) {
      if (edge->is_control() || idle_.contains(edge->dst)) continue;
      if (!SetResult(edge->dst, edge->dst_input)) return false;
    }
    for (Node* result : {match_.of_queries, match_.of_keys, match_.of_values}) {
      if (result != nullptr) Take({result});
    }
    return match_.of_queries != nullptr || match_.of_keys != nullptr;
  }
  // The only consumer of `node`, if there is exactly one.
  Node* OnlyReader(const Node& node) {
    Node* only = nullptr;
    for (const Edge* edge : node.out_edges()) {
      if (edge->is_control() || TakeIdle(edge->dst, 0)) continue;
      if (only != nullptr) return nullptr;
      only = edge->dst;
    }
    return only;
  }
  void SkipIdentities() {
    for (Node* next = OnlyReader(*at_); next != nullptr && next->op() == "Identity"; next = OnlyReader(*at_)) {
      Take({next});
      at_ = next;
    }
  }
  // Skips the nodes that sum the gradient to the shape of input `input` of `node`, if there are any. False if there is
  // something else.
  bool PassSum(const Node& node, int input, bool is_mask) {
    SkipIdentities();
    Node* const sum = OnlyReader(*at_);
    if (sum == nullptr || sum->op() != "Sum" || !Reads(*sum, 0, at_)) return true;
    Node* const reshape = OnlyReader(*sum);
    const Edge* const target = node.input_edge(input);
    const Edge* const beside = node.input_edge(1 - input);
    if (reshape == nullptr || reshape->op() != "Reshape") return false;
    const Node* const summed = SummedBy(*reshape, target, [&](const Edge* other, const Edge* own) {
      return IsShapeOf(own, target) && IsShapeOf(other, beside);
    });
    if (summed != at_) return false;
    Take({sum, reshape});
    at_ = reshape;
    match_.sums_scores = match_.sums_scores || is_mask;
    return true;
  }
  bool PassScale() {
    SkipIdentities();
    Node* const scaled = OnlyReader(*at_);
    if (scaled == nullptr || scaled->num_inputs() != 2 || scaled->op() != forward_.scaled->op()) return false;
    const int own = Reads(*scaled, 0, at_) ? 0 : 1;
    if (forward_.divides && own != 0) return false;
    const Edge* const factor = scaled->input_edge(1 - own);
    if (factor == nullptr || fixed_.contains(factor->src->name())) return false;
    const std::optional<float> scalar = ScalarOf(*factor->src);
    if (!scalar.has_value() || *scalar != *ScalarOf(*forward_.scaled->input_edge(forward_.scalar_input)->src)) {
      return false;
    }
    Take({scaled});
    at_ = scaled;
    return true;
  }
  bool SetResult(Node* node, int input) {
    if (node->op() != "BatchMatMulV2") return false;
    const bool adj_x = IsSet(*node, "adj_x"), adj_y = IsSet(*node, "adj_y"), is_rows = forward_.transposes_keys();
    const Edge* const other = node->input_edge(1 - input);
    if (input == 0 && !adj_x && adj_y != is_rows && IsSame(other, forward_.keys()) && match_.of_queries == nullptr) {
      match_.of_queries = node;
      return true;
    }
    if (input == (is_rows ? 0 : 1) && adj_x && !adj_y && IsSame(other, forward_.queries()) &&
        match_.of_keys == nullptr) {
      match_.of_keys = node;
      return true;
    }
    return false;
  }

  void Take(const std::vector<Node*>& nodes) {
    match_.members.insert(match_.members.end(), nodes.begin(), nodes.end());
  }

  // Reshape(Sum(result)), used only for its value.
  bool IsSumOfResult(const Node& node) const {
    const Edge* const sum = node.op() == "Reshape" ? node.input_edge(0) : nullptr;
    if (sum == nullptr || sum->src->op() != "Sum" || sum->src->input_edge(0) == nullptr) return false;
    const Node* const of = sum->src->input_edge(0)->src;
    return of == match_.of_queries || of == match_.of_keys || of == match_.of_values;
  }

  // Whether members are read, except for results, and waited for by members only, and their values are not fixed.
  bool AreFree() const {
    absl::flat_hash_set<const Node*> members(match_.members.begin(), match_.members.end()), waited_for = members;
    for (const Node* inner : forward_.Inner()) waited_for.insert(inner);
    const auto is_ours = [&](const Edge* edge) {
      return edge->is_control() && (waited_for.contains(edge->src) || IsSumOfResult(*edge->src));
    };
    const auto waits_for_ours = [&](const Node& gate) {
      return IsGate(gate) && std::all_of(gate.in_edges().begin(), gate.in_edges().end(), is_ours);
    };
    for (const Node* member : match_.members) {
      const bool is_idle = idle_.contains(member);
      if ((!is_idle && !AreAlike(*member, *forward_.mix)) || fixed_.contains(member->name())) return false;
      for (const Edge* edge : member->in_edges()) {
        if (edge->is_control() && !waits_for_ours(*edge->src)) return false;
      }
      if (member == match_.of_queries || member == match_.of_keys || member == match_.of_values) continue;
      for (const Edge* edge : member->out_edges()) {
        if (edge->is_control() ? !IsGate(*edge->dst) : !members.contains(edge->dst)) return false;
      }
    }
    for (const Node* shape : match_.shapes) {
      if (fixed_.contains(shape->name())) return false;
    }
    for (const Edge* edge : forward_.mix->in_edges()) {
      if (edge->is_control()) return false;  // the gradient of the values would wait for it too
    }
    return true;
  }

  const AttentionMatch& forward_;
  const absl::flat_hash_set<std::string>& fixed_;
  AttentionGradientMatch match_;
  std::vector<Node*> products_;  // of weights and another operand
  absl::flat_hash_set<const Node*> idle_;
  Node* at_ = nullptr;  // the gradient of the scores, on the path to that of the product
};

// Whether a consumer of a result, or a control successor of a member, precedes the attention or its gradient.
bool ComesBack(const AttentionMatch& forward, const AttentionGradientMatch& gradient, const Graph& graph) {
  std::vector<bool> is_member(graph.num_node_ids()), is_goal(graph.num_node_ids()), seen(graph.num_node_ids());
  for (const Node* node : gradient.members) is_member[node->id()] = is_goal[node->id()] = true;
  for (const Node* node : forward.Members()) is_goal[node->id()] = true;
  std::vector<const Node*> waiting;
  const auto visit = [&](const Node& node) {
    if (seen[node.id()] || node.IsNextIteration()) return;
    seen[node.id()] = true;
    waiting.push_back(&node);
  };
  for (const Node* result : {gradient.of_queries, gradient.of_keys, gradient.of_values}) {
    if (result == nullptr) continue;
    for (const Edge* edge : result->out_edges()) visit(*edge->dst);
  }
  std::vector<Node*> waited_for = forward.Inner();
  waited_for.insert(waited_for.end(), gradient.members.begin(), gradient.members.end());
  for (const Node* node : waited_for) {
    for (const Edge* edge : node->out_edges()) {
      if (edge->is_control()) visit(*edge->dst);
    }
  }
  while (!waiting.empty()) {
    const Node* const node = waiting.back();
    waiting.pop_back();
    if (is_goal[node->id()]) return true;
    for (const Edge* edge : node->out_edges()) {
      // Control edges into members are removed by the fusion.
      if (!(edge->is_control() && is_member[edge->dst->id()])) visit(*edge->dst);
    }
  }
  return false;
}

}  // namespace

std::optional<AttentionGradientMatch> FindAttentionGradient(const AttentionMatch& forward, const Graph& graph,
                                                            const absl::flat_hash_set<std::string>& fixed) {
  std::optional<AttentionGradientMatch> match = Finder(forward, fixed).Find();
  if (match.has_value() && ComesBack(forward, *match, graph)) return std::nullopt;
  return match;
}

}  // namespace weir
