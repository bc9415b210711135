#include "graph/placement/groups.h"

#include <algorithm>
#include <numeric>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/strip.h"
#include "core/device/device.h"
#include "core/op/attr_value.h"

namespace weir {
namespace {

constexpr char kColocationPrefix[] = "loc:@";

// The edge that supplies the value of `edge`, if its source only forwards it. A loop returns the handle that it was
// given.
const Edge* Before(const Edge* edge) {
  const Node& node = *edge->src;
  if (node.op() == "Identity" || node.IsEnter() || node.IsSwitch() || node.IsExit()) return node.input_edge(0);
  if (node.op() == "While" || node.op() == "StatelessWhile") return node.input_edge(edge->src_output);
  if (!node.IsMerge()) return nullptr;
  for (const Edge* in : node.in_edges()) {
    if (!in->is_control() && in->src->IsEnter()) return in;
  }
  return nullptr;
}

// Follows a handle to its producer, through nodes that forward it.
const Node& ResourceSource(const Edge* edge) {
  for (int hops = 0; hops < 64; ++hops) {
    const Edge* before = Before(edge);
    if (before == nullptr) break;
    edge = before;
  }
  return *edge->src;
}

absl::Status Conflict(const Node& node, absl::string_view a, absl::string_view b) {
  return errors::InvalidArgument("Cannot colocate nodes: node '", node.name(), "' (", node.op(), ") asks for device '",
                                 b,
                                 "', but nodes that it must share a device with (through a colocation constraint, a "
                                 "reference or a resource) ask for '",
                                 a, "'");
}

class Colocation {
 public:
  Colocation(const Graph& graph, bool allow_soft_placement)
      : graph_(graph), allow_soft_placement_(allow_soft_placement), parent_(graph.num_node_ids()) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }

  PlacementGroups Run() {
    for (Node* node : graph_.nodes()) {
      ColocateByClass(node);
      for (const Edge* edge : node->in_edges()) ColocateByEdge(*node, edge);
    }
    BuildGroups();
    return std::move(result_);
  }

 private:
  int Root(int id) {
    while (parent_[id] != id) id = parent_[id] = parent_[parent_[id]];
    return id;
  }
  void Join(const Node& a, const Node& b) {
    const int x = Root(a.id()), y = Root(b.id());
    if (x != y) parent_[std::max(x, y)] = std::min(x, y);
  }

  void ColocateByEdge(const Node& node, const Edge* edge) {
    if (edge->is_control()) return;
    const DataType input = node.input_type(edge->dst_input);
    const bool by_ref = IsRefType(input);
    const bool by_resource = RemoveRef(input) == DT_RESOURCE && !IsFunctionCall(node) && !node.IsControlFlow() &&
                             !node.IsSend() && node.op() != "_Retval" && !node.op().starts_with("Identity");
    if (by_ref || by_resource) {
      Join(ResourceSource(edge), node);
      takers_.insert(&node);
    }
    // Loop values stay on one device: a Merge that waits for another device would wait for a value that the first
    // iteration never sends.
    const bool is_loop_edge = node.IsMerge() && (edge->src->IsEnter() || edge->src->IsNextIteration());
    if (is_loop_edge && !by_ref) Join(*edge->src, node);
  }

  void ColocateByClass(Node* node) {
    const tensorflow::AttrValue* attr = FindAttr(node->def(), "_class");
    if (attr == nullptr) return;
    for (const std::string& entry : attr->list().s()) {
      absl::string_view name = entry;
      if (!absl::ConsumePrefix(&name, kColocationPrefix)) continue;
      Node* other = graph_.FindNode(name);
      // A group named after a missing node still keeps its members together.
      if (other == nullptr) other = class_leaders_.try_emplace(name, node).first->second;
      Join(*node, *other);
    }
  }

  void BuildGroups() {
    absl::flat_hash_map<int, int> index;
    result_.group_of.assign(graph_.num_node_ids(), -1);
    for (Node* node : graph_.nodes()) {
      const auto [it, inserted] = index.try_emplace(Root(node->id()), result_.groups.size());
      if (inserted) result_.groups.emplace_back();
      result_.groups[it->second].members.push_back(node);
      result_.group_of[node->id()] = it->second;
    }
    // Resources are placed as requested; ops on them follow, whatever they request.
    for (const bool takers : {false, true}) {
      for (const Node* node : graph_.nodes()) {
        if (takers_.contains(node) == takers) Absorb(*node, &result_.groups[result_.group_of[node->id()]]);
      }
    }
  }

  void Absorb(const Node& node, PlacementGroup* group) {
    if (!group->error.ok()) return;
    if (!node.assigned_device().empty()) {
      auto assigned = DeviceName::ParseFull(node.assigned_device());
      if (!assigned.ok()) {
        group->error = assigned.status();
      } else if (group->fixed && !(*group->fixed == *assigned)) {
        group->error = Conflict(node, group->fixed->ToString(), node.assigned_device());
      } else {
        group->fixed = *assigned;
      }
      return;
    }
    auto request = DeviceName::Parse(node.requested_device());
    if (!request.ok()) {
      group->error = errors::InvalidArgument("Malformed device specification '", node.requested_device(),
                                             "' in node: ", node.name());
      return;
    }
    auto merged = group->request.MergedWith(*request, allow_soft_placement_);
    if (!merged.ok() && takers_.contains(&node)) return;
    if (!merged.ok()) {
      group->error = Conflict(node, group->request.ToString(), node.requested_device());
    } else {
      group->request = *merged;
    }
  }

  const Graph& graph_;
  const bool allow_soft_placement_;
  std::vector<int> parent_;
  absl::flat_hash_map<std::string, Node*> class_leaders_;
  absl::flat_hash_set<const Node*> takers_;  // of a reference or a resource
  PlacementGroups result_;
};

}  // namespace

PlacementGroups ColocateNodes(const Graph& graph, bool allow_soft_placement) {
  return Colocation(graph, allow_soft_placement).Run();
}

bool IsFunctionCall(const Node& node) {
  static constexpr const char* kCalls[] = {"PartitionedCall",
                                           "StatefulPartitionedCall",
                                           "If",
                                           "StatelessIf",
                                           "While",
                                           "StatelessWhile",
                                           "Case",
                                           "StatelessCase",
                                           "For",
                                           "RemoteCall",
                                           "SymbolicGradient"};
  return node.registration() == nullptr ||
         std::find(std::begin(kCalls), std::end(kCalls), node.op()) != std::end(kCalls);
}

bool Admits(const PlacementGroup& group, const DeviceName& device) {
  const bool stays_on_cpu = !group.request.type && IsFunctionCall(*group.members[0]);
  return device.Matches(group.request) && !(stays_on_cpu && device.type == kDeviceGpu);
}

bool HasKernelOn(const KernelRegistry& kernels, const Node& node, const DeviceName& device) {
  if (IsFunctionCall(node) && kernels.ForOp(node.op()).empty()) return true;
  return kernels.Find(node.def(), *device.type).ok();
}

bool HasKernelsOn(const KernelRegistry& kernels, const PlacementGroup& group, const DeviceName& device) {
  return std::all_of(group.members.begin(), group.members.end(),
                     [&](const Node* node) { return HasKernelOn(kernels, *node, device); });
}

int MakerOfVariants(const PlacementGroups& groups, int index) {
  const PlacementGroup& group = groups.groups[index];
  if (group.request.type || group.fixed || !group.error.ok()) return -1;
  int maker = -1;
  for (const Node* node : group.members) {
    const Edge* variant = nullptr;
    for (const Edge* edge : node->in_edges()) {
      if (!edge->is_control() && node->input_type(edge->dst_input) == DT_VARIANT) variant = edge;
    }
    if (variant == nullptr || IsFunctionCall(*node) || node->IsSend()) return -1;
    if (node->IsNextIteration() || IsFunctionCall(*variant->src)) continue;
    const int source = groups.group_of[variant->src->id()];
    if (maker < 0 && source != index) maker = source;
  }
  return maker;
}

int SoleConsumer(const PlacementGroups& groups, int index) {
  const PlacementGroup& group = groups.groups[index];
  const Node& node = *group.members[0];
  if (group.members.size() != 1 || group.request != DeviceName() || !node.in_edges().empty() ||
      node.num_outputs() != 1 || node.IsStateful()) {
    return -1;
  }
  int consumer = -1;
  for (const Edge* edge : node.out_edges()) {
    const int taker = groups.group_of[edge->dst->id()];
    if (consumer >= 0 && taker != consumer) return -1;
    consumer = taker;
  }
  return consumer;
}

}  // namespace weir
