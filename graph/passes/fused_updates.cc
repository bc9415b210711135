#include "graph/passes/fused_updates.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/device/device_name.h"
#include "core/op/attr_value.h"
#include "graph/passes/custom_optimizers.h"

namespace weir {
namespace {

constexpr char kGroupAttr[] = "_weir_update_group";
constexpr char kApplyPrefix[] = "ResourceApply";

// The boolean attribute of update rules that have a kernel for many variables at a time.
const char* FlagOf(absl::string_view op) {
  static const auto* const rules =
      new absl::btree_map<absl::string_view, const char*>{{"GradientDescent", ""},
                                                          {"Momentum", "use_nesterov"},
                                                          {"KerasMomentum", "use_nesterov"},
                                                          {"Adam", "use_nesterov"},
                                                          {"AdamWithAmsgrad", ""},
                                                          {"AdaMax", ""},
                                                          {"Adagrad", "update_slots"},
                                                          {"AdagradV2", "update_slots"},
                                                          {"RMSProp", ""},
                                                          {"CenteredRMSProp", ""},
                                                          {"Adadelta", ""},
                                                          {"Ftrl", "multiply_linear_by_lr"},
                                                          {"FtrlV2", "multiply_linear_by_lr"}};
  if (!absl::ConsumePrefix(&op, kApplyPrefix)) return nullptr;
  const auto found = rules->find(op);
  return found == rules->end() ? nullptr : found->second;
}

bool IsUpdate(const Node& node) {
  if (FlagOf(node.op()) == nullptr || node.num_outputs() > 0) return false;
  const absl::StatusOr<DeviceName> device = DeviceName::Parse(node.assigned_device());
  if (!device.ok() || device->type != "GPU") return false;
  for (int i = 0; i < node.num_inputs(); ++i) {
    if (node.input_edge(i) == nullptr) return false;
  }
  return true;
}

// Whether other nodes may wait for this one without an edge. A node without a registration calls a function, whose body
// may contain any op.
bool MayBeAwaited(const Node& node) {
  const OpRegistration* const op = node.registration();
  return op == nullptr || op->may_block || op->has_functions;
}

// An update's inputs: variables first; then scalars and the gradient.
int NumVariables(const Node& update) {
  const auto is_variable = [](DataType type) { return type == DT_RESOURCE; };
  return static_cast<int>(std::count_if(update.input_types().begin(), update.input_types().end(), is_variable));
}

int GradientInput(const Node& update) {
  for (int i = 0; i < update.op_def().input_arg_size(); ++i) {
    const std::string& name = update.op_def().input_arg(i).name();
    if (name == "grad" || name == "delta") return i;
  }
  return -1;
}
std::vector<int> ScalarInputs(const Node& update) {
  std::vector<int> inputs;
  for (int i = NumVariables(update); i < update.num_inputs(); ++i) {
    if (i != GradientInput(update)) inputs.push_back(i);
  }
  return inputs;
}

// Updates of one group have equal keys.
std::string KeyOf(const Node& update) {
  std::string key = absl::StrCat(update.op(), "\n", update.assigned_device(), "\n", update.requested_device());
  std::map<std::string, std::string> attrs;
  for (const auto& [name, value] : update.def().attr()) {
    if (!absl::StartsWith(name, "_")) attrs[name] = value.ShortDebugString();
  }
  for (const auto& [name, value] : attrs) absl::StrAppend(&key, "\n", name, "=", value);
  for (const int i : ScalarInputs(update)) {
    const Edge* const edge = update.input_edge(i);
    absl::StrAppend(&key, "\n", edge->src->id(), ":", edge->src_output);
  }
  return key;
}

// The maximum number of consecutive updates before each node; -1 after control flow, and before nodes that others may
// wait for without an edge: another update of the group might be among those.
class Generations {
 public:
  explicit Generations(const Graph& graph) : of_(graph.num_node_ids(), 0), waits_for_(graph.num_node_ids(), 0) {
    std::vector<const Node*> ready;
    for (const Node* node : graph.nodes()) {
      for (const Edge* edge : node->in_edges()) waits_for_[node->id()] += !edge->src->IsNextIteration();
      if (waits_for_[node->id()] == 0) ready.push_back(node);
    }
    while (!ready.empty()) {
      const Node* const node = ready.back();
      ready.pop_back();
      if (node->IsControlFlow()) of_[node->id()] = -1;
      if (node->IsNextIteration()) continue;
      for (const Edge* edge : node->out_edges()) {
        Pass(*node, *edge->dst);
        if (--waits_for_[edge->dst->id()] == 0) ready.push_back(edge->dst);
      }
    }
    LeaveOutWhatIsAwaited(graph);
  }
  // Also -1 for nodes on a cycle.
  int Of(const Node& node) const { return waits_for_[node.id()] > 0 ? -1 : of_[node.id()]; }

 private:
  void Pass(const Node& from, const Node& to) {
    const int before = of_[from.id()];
    int& own = of_[to.id()];
    own = before < 0 || own < 0 ? -1 : std::max(own, before + IsUpdate(from));
  }

  void LeaveOutWhatIsAwaited(const Graph& graph) {
    std::vector<bool> seen(of_.size(), false);
    std::vector<const Node*> open;
    for (const Node* node : graph.nodes()) {
      if (MayBeAwaited(*node)) open.push_back(node);
    }
    while (!open.empty()) {
      const Node* const node = open.back();
      open.pop_back();
      if (seen[node->id()]) continue;
      seen[node->id()] = true;
      of_[node->id()] = -1;
      for (const Edge* edge : node->in_edges()) open.push_back(edge->src);
    }
  }

  std::vector<int> of_, waits_for_;
};

class UpdateGroupsPass : public Pass {
 public:
  absl::string_view name() const override { return "update_groups"; }

  absl::Status Run(const PassContext&, Graph* graph, int* changes) const override {
    const Generations generations(*graph);
    // No update of a generation depends on another of the same one, so that all groups may wait at the same time.
    std::map<std::pair<int, std::string>, std::vector<Node*>> groups;
    for (Node* node : graph->nodes()) {
      node->mutable_def()->mutable_attr()->erase(kGroupAttr);
      if (!IsUpdate(*node)) continue;
      const int generation = generations.Of(*node);
      if (generation >= 0) groups[{generation, KeyOf(*node)}].push_back(node);
    }
    int64_t number = 0;
    for (const auto& [key, nodes] : groups) {
      if (nodes.size() < 2) continue;
      for (Node* node : nodes) SetNodeAttr(kGroupAttr, number, node->mutable_def());
      ++number;
      ++*changes;
    }
    return absl::OkStatus();
  }
};

class FusedUpdatesPass : public Pass {
 public:
  absl::string_view name() const override { return "fused_updates"; }

  absl::Status Run(const PassContext&, Graph* graph, int* changes) const override {
    // A graph from another master may give one group name to updates that depend on each other.
    const Generations generations(*graph);
    std::map<std::tuple<int64_t, int, std::string>, std::vector<Node*>> groups;
    for (Node* node : graph->nodes()) {
      int64_t group = 0;
      const int generation = generations.Of(*node);
      if (generation >= 0 && IsUpdate(*node) && GetNodeAttr(node->def(), kGroupAttr, &group).ok()) {
        groups[{group, generation, KeyOf(*node)}].push_back(node);
      }
    }
    for (const auto& [key, nodes] : groups) {
      if (nodes.size() < 2) continue;
      RETURN_IF_ERROR(Fuse(nodes, graph));
      ++*changes;
    }
    return absl::OkStatus();
  }

 private:
  static absl::Status Fuse(const std::vector<Node*>& updates, Graph* graph) {
    const Node& first = *updates[0];
    const int num_variables = NumVariables(first), gradient = GradientInput(first);
    if (gradient < 0) return errors::Internal(first.op(), " has no gradient among its arguments");
    const std::vector<int> scalars = ScalarInputs(first);
    tensorflow::NodeDef def;
    def.set_name(graph->UniqueName(absl::StrCat(first.name(), "/fused")));
    def.set_op("_FusedResourceApply");
    def.set_device(first.requested_device());
    SetNodeAttr("rule", std::string(absl::StripPrefix(first.op(), kApplyPrefix)), &def);
    SetNodeAttr("T", first.input_type(gradient), &def);
    SetNodeAttr("N", static_cast<int64_t>(updates.size()), &def);
    SetNodeAttr("num_variables", static_cast<int64_t>(num_variables * updates.size()), &def);
    SetNodeAttr("num_scalars", static_cast<int64_t>(scalars.size()), &def);
    bool flag = false;
    if (const char* const name = FlagOf(first.op()); *name != '\0') {
      RETURN_IF_ERROR(GetNodeAttr(first.def(), name, &flag));
    }
    SetNodeAttr("flag", flag, &def);
    std::vector<std::string> names;
    for (const Node* update : updates) names.push_back(update->name());
    SetNodeAttr("names", names, &def);
    ASSIGN_OR_RETURN(Node * node, graph->AddNode(std::move(def)));
    node->set_assigned_device(first.assigned_device());

    int to = 0;
    const auto connect = [&](const Edge& edge) {
      return graph->AddEdge(edge.src, edge.src_output, node, to++).status();
    };
    for (const Node* update : updates) {
      for (int i = 0; i < num_variables; ++i) RETURN_IF_ERROR(connect(*update->input_edge(i)));
    }
    for (const int i : scalars) RETURN_IF_ERROR(connect(*first.input_edge(i)));
    for (const Node* update : updates) RETURN_IF_ERROR(connect(*update->input_edge(gradient)));
    for (Node* update : updates) {
      for (const Edge* edge : update->in_edges()) {
        if (edge->is_control()) graph->AddControlEdge(edge->src, node);
      }
      for (const Edge* edge : update->out_edges()) graph->AddControlEdge(node, edge->dst);
      graph->RemoveNode(update);
    }
    return absl::OkStatus();
  }
};

}  // namespace

absl::StatusOr<bool> AsksForFusedUpdates(const tensorflow::GraphOptions& options) {
  return AsksForCustomOptimizer(options.rewrite_options(), kFusedUpdatesOptimizer);
}

std::unique_ptr<Pass> MakeUpdateGroupsPass() { return std::make_unique<UpdateGroupsPass>(); }
std::unique_ptr<Pass> MakeFusedUpdatesPass() { return std::make_unique<FusedUpdatesPass>(); }

}  // namespace weir
