#include "graph/passes/attention_match.h"

#include <algorithm>
#include <cmath>

#include "core/device/device_name.h"
#include "core/op/attr_value.h"
#include "graph/passes/attention_parts.h"

namespace weir {
namespace {

bool HasKernel(const Node& node) {
  if (node.output_type(0) != DT_FLOAT && node.output_type(0) != DT_HALF && node.output_type(0) != DT_BFLOAT16) {
    return false;
  }
  if (node.assigned_device().empty()) return true;
  const absl::StatusOr<DeviceName> device = DeviceName::Parse(node.assigned_device());
  return device.ok() && (device->type == "CPU" || device->type == "GPU");
}

// The source of input `input` of `node`, if both have the same device and type and its value is not fixed.
Node* Before(const Node& node, int input, const absl::flat_hash_set<std::string>& fixed) {
  const Edge* const edge = node.input_edge(input);
  if (edge == nullptr || edge->src_output != 0 || edge->src->num_outputs() != 1) return nullptr;
  Node* const source = edge->src;
  return AreAlike(*source, node) && !fixed.contains(source->name()) ? source : nullptr;
}

bool SetProduct(Node* node, AttentionMatch* match) {
  if (node->op() != "BatchMatMulV2" || IsSet(*node, "adj_x")) return false;
  match->product = node;
  return true;
}

// The product of queries and keys, with an optional scalar factor.
bool FindScores(const Node& reader, int input, const absl::flat_hash_set<std::string>& fixed, AttentionMatch* match) {
  Node* const scores = Before(reader, input, fixed);
  if (scores == nullptr) return false;
  if (SetProduct(scores, match)) return true;
  match->divides = scores->op() == "RealDiv" || scores->op() == "Div";
  if (!match->divides && scores->op() != "Mul") return false;
  for (const int i : {0, 1}) {
    const Edge* const factor = scores->input_edge(1 - i);
    if (factor == nullptr || (match->divides && i == 1) || fixed.contains(factor->src->name())) continue;
    const std::optional<float> scalar = ScalarOf(*factor->src);
    Node* const product = Before(*scores, i, fixed);
    if (!scalar.has_value() || product == nullptr || !SetProduct(product, match)) continue;
    match->scale = match->divides ? 1 / *scalar : *scalar;
    match->scaled = scores;
    match->scalar_input = 1 - i;
    return std::isfinite(match->scale);
  }
  return false;
}

}  // namespace

std::vector<Node*> AttentionMatch::Inner() const {
  std::vector<Node*> inner = {softmax};
  if (sum != nullptr) inner.push_back(sum);
  if (scaled != nullptr) inner.push_back(scaled);
  inner.push_back(product);
  return inner;
}

std::vector<Node*> AttentionMatch::Members() const {
  std::vector<Node*> members = Inner();
  members.insert(members.begin(), mix);
  return members;
}

bool AttentionMatch::transposes_keys() const { return IsSet(*product, "adj_y"); }

std::vector<AttentionMatch> FindAttention(Node* mix, const absl::flat_hash_set<std::string>& fixed) {
  std::vector<AttentionMatch> matches;
  if (mix->op() != "BatchMatMulV2" || IsSet(*mix, "adj_x") || IsSet(*mix, "adj_y") || mix->input_edge(1) == nullptr ||
      !HasKernel(*mix)) {
    return matches;
  }
  Node* const softmax = Before(*mix, 0, fixed);
  if (softmax == nullptr || softmax->op() != "Softmax") return matches;
  AttentionMatch match{.softmax = softmax, .mix = mix};
  Node* const sum = Before(*softmax, 0, fixed);
  if (sum == nullptr || (sum->op() != "AddV2" && sum->op() != "Add")) {
    if (FindScores(*softmax, 0, fixed, &match)) matches.push_back(match);
    return matches;
  }
  for (const int i : {0, 1}) {
    AttentionMatch masked = match;
    masked.sum = sum;
    masked.mask_input = 1 - i;
    if (sum->input_edge(1 - i) != nullptr && FindScores(*sum, i, fixed, &masked)) matches.push_back(masked);
  }
  return matches;
}

bool IsReadInsideAlone(const AttentionMatch& match) {
  const std::vector<Node*> inner = match.Inner();
  return std::all_of(inner.begin(), inner.end(), [](const Node* node) { return node->out_edges().size() == 1; });
}

}  // namespace weir
