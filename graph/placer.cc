#include "graph/placer.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "core/device/device.h"
#include "core/op/attr_value.h"
#include "graph/function_library.h"

namespace weir {
namespace {

constexpr char kColocationPrefix[] = "loc:@";

// Function calls may take resources from other devices: the body is partitioned again where it runs.
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

// Nodes that must share a device.
struct Group {
  std::vector<Node*> members;
  DeviceName request;               // merged over the members
  std::optional<DeviceName> fixed;  // a member was already placed
  absl::Status error;               // why the group cannot be placed
  bool placed = false;
  bool waits = false;  // for its variants' producers to be placed
};

class Placer {
 public:
  Placer(const PlacerOptions& options, Graph* graph) : options_(options), graph_(graph) {
    parent_.resize(graph->num_node_ids());
    std::iota(parent_.begin(), parent_.end(), 0);
  }

  absl::flat_hash_map<std::string, absl::Status> Run() {
    Colocate();
    BuildGroups();
    for (Group& group : groups_) Place(&group, /*follow_consumer=*/true);
    for (Group& group : groups_) PlaceBehindVariants(&group);
    for (Group& group : groups_) Place(&group, /*follow_consumer=*/false);
    return std::move(errors_);
  }

  std::vector<std::vector<Node*>> Groups() {
    Colocate();
    std::vector<std::vector<Node*>> groups;
    absl::flat_hash_map<int, size_t> index;
    for (Node* node : graph_->nodes()) {
      const auto [it, inserted] = index.try_emplace(Root(node->id()), groups.size());
      if (inserted) groups.emplace_back();
      groups[it->second].push_back(node);
    }
    return groups;
  }

 private:
  int Root(int id) {
    while (parent_[id] != id) id = parent_[id] = parent_[parent_[id]];
    return id;
  }
  void Join(const Node& a, const Node& b) {
    int x = Root(a.id()), y = Root(b.id());
    if (x != y) parent_[std::max(x, y)] = std::min(x, y);
  }

  void Colocate() {
    for (Node* node : graph_->nodes()) {
      ColocateByClass(node);
      for (const Edge* edge : node->in_edges()) {
        if (edge->is_control()) continue;
        const DataType input = node->input_type(edge->dst_input);
        const bool by_ref = IsRefType(input);
        const bool by_resource = RemoveRef(input) == DT_RESOURCE && !IsFunctionCall(*node) && !node->IsControlFlow() &&
                                 !node->IsSend() && node->op() != "_Retval" && !node->op().starts_with("Identity");
        if (by_ref || by_resource) {
          Join(*ResourceSource(edge), *node);
          takers_.insert(node);
        }
        // Loop values stay on one device: a Merge that waits for another device would wait for a value that the first
        // iteration never sends.
        const bool is_loop_edge = node->IsMerge() && (edge->src->IsEnter() || edge->src->IsNextIteration());
        if (is_loop_edge && !by_ref) Join(*edge->src, *node);
      }
    }
  }

  // Follows a handle to its producer, through nodes that forward it.
  static Node* ResourceSource(const Edge* edge) {
    for (int hops = 0; hops < 64; ++hops) {
      const Edge* before = Before(edge);
      if (before == nullptr) break;
      edge = before;
    }
    return edge->src;
  }
  // The edge that supplies the value of `edge`, if its source only forwards it. A loop returns the handle that it was
  // given.
  static const Edge* Before(const Edge* edge) {
    const Node& node = *edge->src;
    if (node.op() == "Identity" || node.IsEnter() || node.IsSwitch() || node.IsExit()) return node.input_edge(0);
    if (node.op() == "While" || node.op() == "StatelessWhile") return node.input_edge(edge->src_output);
    if (!node.IsMerge()) return nullptr;
    for (const Edge* in : node.in_edges()) {
      if (!in->is_control() && in->src->IsEnter()) return in;
    }
    return nullptr;
  }

  void ColocateByClass(Node* node) {
    const tensorflow::AttrValue* attr = FindAttr(node->def(), "_class");
    if (attr == nullptr) return;
    for (const std::string& entry : attr->list().s()) {
      absl::string_view name = entry;
      if (!absl::ConsumePrefix(&name, kColocationPrefix)) continue;
      Node* other = graph_->FindNode(name);
      // A group named after a missing node still keeps its members together.
      if (other == nullptr) other = class_leaders_.try_emplace(name, node).first->second;
      Join(*node, *other);
    }
  }

  void BuildGroups() {
    absl::flat_hash_map<int, int> index;
    for (Node* node : graph_->nodes()) {
      auto [it, inserted] = index.try_emplace(Root(node->id()), groups_.size());
      if (inserted) groups_.emplace_back();
      Group& group = groups_[it->second];
      group.members.push_back(node);
      group_of_[node] = it->second;
    }
    // Resources are placed as requested; ops on them follow, whatever they request.
    for (const bool takers : {false, true}) {
      for (Node* node : graph_->nodes()) {
        if (takers_.contains(node) == takers) Absorb(node, &groups_[group_of_[node]]);
      }
    }
  }

  void Absorb(Node* node, Group* group) {
    if (!group->error.ok()) return;
    if (!node->assigned_device().empty()) {
      auto assigned = DeviceName::ParseFull(node->assigned_device());
      if (!assigned.ok()) {
        group->error = assigned.status();
      } else if (group->fixed && !(*group->fixed == *assigned)) {
        group->error = Conflict(*node, group->fixed->ToString(), node->assigned_device());
      } else {
        group->fixed = *assigned;
      }
      return;
    }
    auto request = DeviceName::Parse(node->requested_device());
    if (!request.ok()) {
      group->error = errors::InvalidArgument("Malformed device specification '", node->requested_device(),
                                             "' in node: ", node->name());
      return;
    }
    auto merged = group->request.MergedWith(*request, options_.allow_soft_placement);
    if (!merged.ok() && takers_.contains(node)) return;
    if (!merged.ok()) {
      group->error = Conflict(*node, group->request.ToString(), node->requested_device());
    } else {
      group->request = *merged;
    }
  }

  static absl::Status Conflict(const Node& node, absl::string_view a, absl::string_view b) {
    return errors::InvalidArgument("Cannot colocate nodes: node '", node.name(), "' (", node.op(),
                                   ") asks for device '", b,
                                   "', but nodes that it must share a device with (through a colocation constraint, a "
                                   "reference or a resource) ask for '",
                                   a, "'");
  }

  bool Supports(const Node& node, const DeviceName& device) const {
    if (IsFunctionCall(node) && options_.kernels->ForOp(node.op()).empty()) return true;
    return options_.kernels->Find(node.def(), *device.type).ok();
  }
  bool SupportsAll(const Group& group, const DeviceName& device) const {
    return std::all_of(group.members.begin(), group.members.end(),
                       [&](const Node* node) { return Supports(*node, device); });
  }

  // The group that produces the first variant that the group reads, if all of the group can handle variants on any type
  // of device. Skips loop back edges and calls, which do not determine where their results are produced.
  Group* MakerOfVariants(const Group& group) {
    if (group.request.type || group.fixed || !group.error.ok()) return nullptr;
    Group* maker = nullptr;
    for (const Node* node : group.members) {
      const Edge* variant = nullptr;
      for (const Edge* edge : node->in_edges()) {
        if (!edge->is_control() && node->input_type(edge->dst_input) == DT_VARIANT) variant = edge;
      }
      if (variant == nullptr || IsFunctionCall(*node) || node->IsSend()) return nullptr;
      if (node->IsNextIteration() || IsFunctionCall(*variant->src)) continue;
      Group* const source = &groups_[group_of_.at(variant->src)];
      if (maker == nullptr && source != &group) maker = source;
    }
    return maker;
  }

  // Places groups that wait for the producers of their variants, producers first, in chains of any length.
  void PlaceBehindVariants(Group* group) {
    std::vector<Group*> row;
    for (Group* next = group; next != nullptr && !next->placed && !next->waits; next = MakerOfVariants(*next)) {
      next->waits = true;
      row.push_back(next);
    }
    for (auto next = row.rbegin(); next != row.rend(); ++next) {
      Place(*next, /*follow_consumer=*/true);
      (*next)->waits = false;
    }
  }

  void Place(Group* group, bool follow_consumer) {
    if (group->placed) return;
    if (group->error.ok() && group->fixed) return Assign(group, *group->fixed);
    if (group->error.ok()) {
      std::optional<DeviceName> preferred = PreferredDevice(*group);
      if (follow_consumer && IsGenerator(*group)) return;
      if (const Group* const maker = MakerOfVariants(*group); maker != nullptr) {
        if (!maker->placed && !group->waits) return;
        preferred = DeviceOf(*maker);
      }
      auto device = Choose(*group, preferred);
      if (device.ok()) return Assign(group, *device);
      group->error = device.status();
    }
    group->placed = true;
    for (Node* node : group->members) errors_[node->name()] = group->error;
  }

  // A single unconstrained node without inputs whose only output goes to one group.
  bool IsGenerator(const Group& group) const {
    const Node& node = *group.members[0];
    return group.members.size() == 1 && group.request == DeviceName() && node.in_edges().empty() &&
           node.num_outputs() == 1 && !node.IsStateful() && SoleConsumer(node) >= 0;
  }
  int SoleConsumer(const Node& node) const {
    int consumer = -1;
    for (const Edge* edge : node.out_edges()) {
      const int group = group_of_.at(edge->dst);
      if (consumer >= 0 && group != consumer) return -1;
      consumer = group;
    }
    return consumer;
  }
  std::optional<DeviceName> PreferredDevice(const Group& group) const {
    if (!IsGenerator(group)) return std::nullopt;
    return DeviceOf(groups_[SoleConsumer(*group.members[0])]);
  }
  static std::optional<DeviceName> DeviceOf(const Group& group) {
    const std::string& device = group.members[0]->assigned_device();
    if (device.empty()) return std::nullopt;
    auto parsed = DeviceName::ParseFull(device);
    return parsed.ok() ? std::optional<DeviceName>(*parsed) : std::nullopt;
  }

  absl::StatusOr<DeviceName> Choose(const Group& group, const std::optional<DeviceName>& preferred) const {
    if (preferred && preferred->Matches(group.request) && SupportsAll(group, *preferred)) return *preferred;
    bool any_match = false;
    const bool stays_on_cpu = !group.request.type && IsFunctionCall(*group.members[0]);
    for (const DeviceName& device : options_.devices) {
      if (!device.Matches(group.request) || (stays_on_cpu && device.type == kDeviceGpu)) continue;
      any_match = true;
      if (SupportsAll(group, device)) return device;
    }
    if (options_.allow_soft_placement) {
      // Another device of the same task, never of another one: state lives in the task.
      DeviceName task = group.request;
      task.type.reset();
      task.id.reset();
      for (const DeviceName& device : options_.devices) {
        if (device.Matches(task) && SupportsAll(group, device)) return device;
      }
    }
    return any_match ? NoKernel(group) : NoDevice(group);
  }

  absl::Status NoDevice(const Group& group) const {
    const Node& node = *group.members[0];
    return errors::InvalidArgument(
        "Cannot assign a device for operation ", node.name(), ": {{node ", node.name(),
        "}} was explicitly assigned to ", group.request.ToString(), " but available devices are [ ",
        absl::StrJoin(options_.devices, ", ",
                      [](std::string* out, const DeviceName& d) { absl::StrAppend(out, d.ToString()); }),
        " ]. Make sure the device specification refers to a valid device.");
  }

  absl::Status NoKernel(const Group& group) const {
    for (const DeviceName& device : options_.devices) {
      if (!device.Matches(group.request)) continue;
      for (const Node* node : group.members) {
        if (Supports(*node, device)) continue;
        if (group.request.type && *group.request.type != kDeviceCpu) return NotOnType(*node, *group.request.type);
        absl::Status status = options_.kernels->Find(node->def(), *device.type).status();
        return absl::Status(
            status.code(), absl::StrCat("Cannot assign a device for operation ", node->name(), ": ", status.message()));
      }
    }
    return errors::Internal("Cannot assign a device for operation ", group.members[0]->name());
  }

  // In TensorFlow's words.
  absl::Status NotOnType(const Node& node, absl::string_view type) const {
    const absl::Status none = options_.kernels->Find(node.def(), type).status();
    return errors::InvalidArgument("Cannot assign a device for operation ", node.name(),
                                   ": Could not satisfy explicit device specification '", node.requested_device(),
                                   "' because no supported kernel for ", type,
                                   " devices is available.\nOp: ", node.op(), "\n", none.message());
  }

  void Assign(Group* group, const DeviceName& device) {
    group->placed = true;
    const std::string name = device.ToString();
    for (Node* node : group->members) {
      node->set_assigned_device(name);
      if (options_.moved != nullptr) ReportIfMoved(*node, device);
    }
  }

  // Nodes that follow others of their group are reported only if they have no kernel on the requested device.
  void ReportIfMoved(const Node& node, const DeviceName& device) const {
    const absl::StatusOr<DeviceName> asked = DeviceName::Parse(node.requested_device());
    if (!asked.ok() || !asked->type || asked->type == device.type) return;
    if (!options_.kernels->Find(node.def(), *asked->type).ok()) options_.moved(node, *asked->type, device);
  }

  const PlacerOptions& options_;
  Graph* const graph_;
  std::vector<int> parent_;
  absl::flat_hash_map<std::string, Node*> class_leaders_;
  std::vector<Group> groups_;
  absl::flat_hash_map<const Node*, int> group_of_;
  absl::flat_hash_set<const Node*> takers_;  // of a reference or a resource
  absl::flat_hash_map<std::string, absl::Status> errors_;
};

}  // namespace

absl::flat_hash_map<std::string, absl::Status> PlaceGraph(const PlacerOptions& options, Graph* graph) {
  return Placer(options, graph).Run();
}

std::vector<std::vector<Node*>> ColocationGroups(Graph* graph) { return Placer({}, graph).Groups(); }

}  // namespace weir
