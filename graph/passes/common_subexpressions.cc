// Common sub-expression elimination.
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/strings/match.h"
#include "core/op/attr_value.h"
#include "graph/passes/pass_manager.h"
#include "graph/shapes/shape_refiner.h"
#include "tensorflow/core/framework/op_def.pb.h"

namespace weir {
namespace {

// The inputs of a node: data inputs in order (sorted for commutative ops), then control inputs, sorted.
using Inputs = std::vector<std::pair<int, int>>;

Inputs InputsOf(const Node& node) {
  Inputs inputs;
  for (int i = 0; i < node.num_inputs(); ++i) {
    inputs.emplace_back(node.input_edge(i)->src->id(), node.input_edge(i)->src_output);
  }
  if (node.op_def().is_commutative()) std::sort(inputs.begin(), inputs.end());
  const auto num_data = static_cast<std::ptrdiff_t>(inputs.size());
  for (const Edge* edge : node.in_edges()) {
    if (edge->is_control()) inputs.emplace_back(edge->src->id(), Edge::kControlSlot);
  }
  std::sort(inputs.begin() + num_data, inputs.end());
  return inputs;
}

uint64_t Hash(const Node& node, const Inputs& inputs) {
  uint64_t attrs = 0;  // maps are unordered
  for (const auto& [name, value] : node.def().attr()) attrs += absl::HashOf(name, HashAttrValue(value));
  return absl::HashOf(node.op(), node.requested_device(), node.assigned_device(), inputs, attrs);
}

bool SameAttrs(const Node& a, const Node& b) {
  if (a.def().attr().size() != b.def().attr().size()) return false;
  return std::all_of(a.def().attr().begin(), a.def().attr().end(), [&](const auto& attr) {
    const tensorflow::AttrValue* other = FindAttr(b.def(), attr.first);
    return other != nullptr && AttrValuesEqual(attr.second, *other);
  });
}

bool Same(const Node& a, const Node& b, const Inputs& inputs_of_b) {
  return a.op() == b.op() && a.requested_device() == b.requested_device() &&
         a.assigned_device() == b.assigned_device() && InputsOf(a) == inputs_of_b && SameAttrs(a, b);
}

// Two such nodes with equal inputs have equal outputs. That excludes state, tensors that a client may feed, and reads
// of variables, which depend on when they run.
bool IsPure(const Node& node) {
  if (node.registration() == nullptr || node.IsStateful() || node.IsControlFlow()) return false;
  if (node.num_outputs() == 0 || absl::StartsWith(node.op(), "Placeholder")) return false;
  auto is_plain = [](DataType type) { return IsPlainType(type) || type == DT_STRING; };
  for (int i = 0; i < node.num_inputs(); ++i) {
    const Edge* edge = node.input_edge(i);
    if (edge == nullptr || !is_plain(edge->src->output_type(edge->src_output))) return false;
  }
  return std::all_of(node.output_types().begin(), node.output_types().end(), is_plain);
}

class CommonSubexpressionPass : public Pass {
 public:
  absl::string_view name() const override { return "common_subexpressions"; }
  absl::Status Run(const PassContext& context, Graph* graph, int* changes) const override;
};

// Redirects all users of `node` to `twin`.
absl::Status MergeInto(Node* twin, Node* node, Graph* graph) {
  const std::vector<Edge*> users = node->out_edges();
  for (const Edge* edge : users) {
    Node* user = edge->dst;
    if (edge->is_control()) {
      graph->AddControlEdge(twin, user);
    } else {
      RETURN_IF_ERROR(graph->ReplaceInput(user, edge->dst_input, twin, edge->src_output));
    }
  }
  graph->RemoveNode(node);
  return absl::OkStatus();
}

absl::Status CommonSubexpressionPass::Run(const PassContext& context, Graph* graph, int* changes) const {
  const absl::flat_hash_set<std::string> kept = context.KeptNodes(), fed = context.FedNodes();
  absl::flat_hash_map<uint64_t, std::vector<Node*>> seen;
  for (Node* node : TopologicalOrder(*graph)) {
    if (!IsPure(*node) || fed.contains(node->name())) continue;
    const Inputs inputs = InputsOf(*node);
    std::vector<Node*>& candidates = seen[Hash(*node, inputs)];
    auto twin = std::find_if(candidates.begin(), candidates.end(),
                             [&](const Node* candidate) { return Same(*candidate, *node, inputs); });
    if (twin == candidates.end()) {
      candidates.push_back(node);
    } else if (!kept.contains(node->name())) {
      RETURN_IF_ERROR(MergeInto(*twin, node, graph));
      ++*changes;
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::unique_ptr<Pass> MakeCommonSubexpressionPass() { return std::make_unique<CommonSubexpressionPass>(); }

}  // namespace weir
