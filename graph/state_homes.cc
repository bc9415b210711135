#include "graph/state_homes.h"

#include <algorithm>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/device/device_name.h"
#include "core/op/attr_value.h"
#include "graph/function_library.h"
#include "graph/passes/standby_updates.h"
#include "graph/placement/groups.h"
#include "tensorflow/core/framework/function.pb.h"

namespace weir {
namespace {

// State other than variables, such as a queue, which stays where it is.
bool HoldsOtherState(const Node& node) {
  if (FindAttr(node.def(), "container") == nullptr || StateKeyOf(node).has_value() || node.num_outputs() == 0) {
    return false;
  }
  const DataType type = node.output_type(0);
  return IsRefType(type) || type == DT_RESOURCE;
}

// The functions that name variables in their bodies, where these do not move, by the variables' names.
absl::flat_hash_map<std::string, std::string> VariablesInFunctions(const Graph& graph) {
  absl::flat_hash_map<std::string, std::string> found;
  for (const std::string& function : graph.functions().Names()) {
    for (const tensorflow::NodeDef& node : graph.functions().Find(function)->node_def()) {
      if (node.op() != "VarHandleOp") continue;
      const tensorflow::AttrValue* const name = FindAttr(node, "shared_name");
      found[name != nullptr && !name->s().empty() ? name->s() : node.name()] = function;
    }
  }
  return found;
}

std::string Describe(const StateKey& key) { return absl::StrCat("'", key.name, "' of ", key.device); }

// The home of a group's variables; empty: none has ever moved.
absl::StatusOr<std::string> HomeOfGroup(const StateHomeOf& home_of, const std::vector<Node*>& group) {
  std::string home;
  std::optional<StateKey> at_home;
  for (const Node* node : group) {
    const std::optional<StateKey> key = StateKeyOf(*node);
    if (!key) continue;
    const std::string task = home_of(*key);
    if (task.empty()) continue;
    if (!home.empty() && task != home) {
      return errors::FailedPrecondition("Node '", node->name(), "' and others use the variables ", Describe(*key),
                                        " and ", Describe(*at_home), " together, but these were moved to ", task,
                                        " and ", home, ": move them to one task");
    }
    home = task;
    at_home = key;
  }
  return home;
}

}  // namespace

absl::Status AssignToHomes(const StateHomeOf& home_of, const SuccessorOf& successor_of, Graph* graph) {
  for (const PlacementGroup& group : ColocateNodes(*graph, /*allow_soft_placement=*/true).groups) {
    ASSIGN_OR_RETURN(const std::string home, HomeOfGroup(home_of, group.members));
    if (home.empty()) continue;
    ASSIGN_OR_RETURN(const DeviceName task, DeviceName::Parse(home));
    for (Node* node : group.members) {
      const absl::StatusOr<DeviceName> assigned = DeviceName::ParseFull(node->assigned_device());
      if (!assigned.ok()) continue;
      if (const std::optional<StateKey> key = StateKeyOf(*node)) {
        ASSIGN_OR_RETURN(const DeviceName origin, DeviceName::ParseFull(key->device));
        tensorflow::AttrValue& container = (*node->mutable_def()->mutable_attr())["container"];
        container.set_s(origin.SameTask(task) ? key->container : ContainerAway(*key));
      }
      node->set_assigned_device(assigned->OverriddenBy(task).ToString());
    }
  }
  for (Node* node : graph->nodes()) {
    const absl::StatusOr<DeviceName> assigned = DeviceName::ParseFull(node->assigned_device());
    if (!assigned.ok()) continue;
    const std::string successor = successor_of(assigned->TaskName());
    if (successor.empty()) continue;
    ASSIGN_OR_RETURN(const DeviceName task, DeviceName::Parse(successor));
    // Tables that the successor has a copy of, as the lost task's standby.
    if (const std::optional<StateKey> key = ReplicatedKeyOf(*node)) {
      SetNodeAttr("container", ContainerOn(*key, successor), node->mutable_def());
    }
    node->set_assigned_device(assigned->OverriddenBy(task).ToString());
  }
  return absl::OkStatus();
}

absl::Status AssignToStandbys(const std::function<std::string(const std::string& task)>& standby_of, Graph* graph) {
  for (const PlacementGroup& group : ColocateNodes(*graph, /*allow_soft_placement=*/true).groups) {
    const auto holds = [](const Node* node) { return StateKeyOf(*node).has_value(); };
    if (std::none_of(group.members.begin(), group.members.end(), holds)) continue;
    if (std::any_of(group.members.begin(), group.members.end(),
                    [](const Node* node) { return HoldsOtherState(*node); })) {
      continue;  // of which standbys have no copy
    }
    for (Node* node : group.members) {
      const absl::StatusOr<DeviceName> assigned = DeviceName::ParseFull(node->assigned_device());
      if (!assigned.ok()) continue;
      const std::string task = assigned->TaskName(), standby = standby_of(task);
      if (standby.empty()) continue;
      ASSIGN_OR_RETURN(const DeviceName there, DeviceName::Parse(standby));
      if (const std::optional<StateKey> key = StateKeyOf(*node)) {
        SetNodeAttr("container", ContainerOn(*key, standby), node->mutable_def());
        SetNodeAttr("shared_name", key->name, node->mutable_def());
        SetNodeAttr(kStandbyForAttr, task, node->mutable_def());
      }
      node->set_assigned_device(assigned->OverriddenBy(there).ToString());
      for (const Edge* edge : node->out_edges()) {
        if (edge->dst->IsSend()) edge->dst->set_assigned_device(node->assigned_device());  // of what is fetched
      }
    }
  }
  return absl::OkStatus();
}

std::vector<SharedState> FindSharedState(Graph* graph) {
  std::vector<SharedState> found;
  const absl::flat_hash_map<std::string, std::string> in_functions = VariablesInFunctions(*graph);
  for (const PlacementGroup& group : ColocateNodes(*graph, /*allow_soft_placement=*/true).groups) {
    SharedState shared;
    for (const Node* node : group.members) {
      if (const std::optional<StateKey> key = StateKeyOf(*node)) {
        shared.variables.push_back(node);
        const auto used = in_functions.find(key->name);
        if (used != in_functions.end()) {
          shared.function = used->second;
          shared.obstacle = absl::StrCat("function ", used->second, " may use it");
        }
      }
      if (HoldsOtherState(*node) && shared.obstacle.empty()) {
        shared.obstacle = absl::StrCat("node '", node->name(), "' (", node->op(), ") must stay with it");
      }
    }
    if (!shared.variables.empty()) found.push_back(std::move(shared));
  }
  return found;
}

}  // namespace weir
