#include "graph/collectives.h"

#include <optional>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "core/op/attr_value.h"
#include "core/tensor/tensor.h"
#include "core/tensor/tensor_proto.h"
#include "graph/function_library.h"

namespace weir {
namespace {

constexpr uint64_t kSeed = 0x8774aa605c729c72ULL;

// TensorFlow's hash combiner.
uint64_t Combine(uint64_t a, uint64_t b) { return a ^ (b + 0x9e3779b97f4a7800ULL + (a << 10) + (a >> 4)); }

bool HasKeyAttributes(const tensorflow::NodeDef& node) { return node.attr().contains("instance_key"); }

int64_t IntAttr(const tensorflow::NodeDef& node, const char* name) {
  const auto found = node.attr().find(name);
  return found == node.attr().end() ? 0 : found->second.i();
}

// The value of a node's input if it is a constant.
std::optional<int64_t> ConstantInput(const Node& node, int input) {
  const Edge* edge = node.input_edge(input);
  if (edge == nullptr || edge->src->op() != "Const") return std::nullopt;
  const auto value = edge->src->def().attr().find("value");
  if (value == edge->src->def().attr().end()) return std::nullopt;
  const auto tensor = TensorFromProto(value->second.tensor());
  if (!tensor.ok() || tensor->dtype() != DT_INT32 || tensor->NumElements() != 1) return std::nullopt;
  return tensor->scalar<int32_t>();
}

struct Keys {
  int64_t size = 0, group = 0, instance = 0;
};

// nullopt if the keys are known only at run time.
std::optional<Keys> KeysOf(const Node& node) {
  if (HasKeyAttributes(node.def())) {
    return Keys{IntAttr(node.def(), "group_size"), IntAttr(node.def(), "group_key"),
                IntAttr(node.def(), "instance_key")};
  }
  if (!absl::EndsWith(node.op(), "V2")) return std::nullopt;
  const int first = node.op() == "CollectiveBcastRecvV2" ? 0 : 1;
  const auto size = ConstantInput(node, first), group = ConstantInput(node, first + 1),
             instance = ConstantInput(node, first + 2);
  if (!size || !group || !instance) return std::nullopt;
  return Keys{*size, *group, *instance};
}

}  // namespace

bool IsCollective(absl::string_view op) {
  return absl::StartsWith(op, "Collective") && op != "CollectiveAssignGroupV2";
}

bool HasCollectives(const tensorflow::GraphDef& graph) {
  for (const tensorflow::NodeDef& node : graph.node()) {
    if (IsCollective(node.op())) return true;
  }
  for (const tensorflow::FunctionDef& function : graph.library().function()) {
    for (const tensorflow::NodeDef& node : function.node_def()) {
      if (IsCollective(node.op())) return true;
    }
  }
  return false;
}

int64_t CollectiveGraphKey(const Graph& graph) {
  std::set<int32_t> instances;
  bool has_any = false, is_closed = true;
  absl::flat_hash_map<std::pair<int64_t, int64_t>, std::pair<int64_t, int64_t>> members;  // size, count in this graph
  for (const Node* node : graph.nodes()) {
    if (!IsCollective(node->op())) continue;
    has_any = true;
    if (HasKeyAttributes(node->def())) instances.insert(static_cast<int32_t>(IntAttr(node->def(), "instance_key")));
    const std::optional<Keys> keys = KeysOf(*node);
    if (!keys) {
      is_closed = false;
      continue;
    }
    auto& [size, count] = members[{keys->group, keys->instance}];
    size = keys->size;
    ++count;
  }
  for (const std::string& name : graph.functions().Names()) {
    for (const tensorflow::NodeDef& node : graph.functions().Find(name)->node_def()) {
      if (!IsCollective(node.op())) continue;
      has_any = true;
      is_closed = false;
      if (HasKeyAttributes(node)) instances.insert(static_cast<int32_t>(IntAttr(node, "instance_key")));
    }
  }
  for (const auto& [key, member] : members) is_closed = is_closed && member.first == member.second;
  if (!has_any || is_closed) return 0;
  uint64_t hash = kSeed;
  for (const int32_t instance : instances) hash = Combine(static_cast<uint64_t>(static_cast<int64_t>(instance)), hash);
  return static_cast<int64_t>(hash);
}

void AskForWire(const WireOptions& wire, Graph* graph) {
  for (Node* node : graph->nodes()) {
    if (!IsCollective(node->op()) || node->def().attr().contains(kWireAttr)) continue;
    WireOptions own = wire;
    if (!absl::StrContains(node->op(), "Reduce")) own.cast = WireCast::kNone;
    if (own.any()) SetNodeAttr(kWireAttr, own.ToString(), node->mutable_def());
  }
}

}  // namespace weir
