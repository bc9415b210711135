#include "graph/placement/units.h"

#include <algorithm>
#include <numeric>

#include "graph/control_flow.h"

namespace weir {
namespace {

bool TakesResource(const Node& node) {
  return std::any_of(node.input_types().begin(), node.input_types().end(),
                     [](DataType type) { return IsRefType(type) || type == DT_RESOURCE; });
}

// Strings may name files of the task; the tensors of a variant are on its device.
bool HasStringsOrVariants(const Node& node) {
  const auto is_local = [](DataType type) { return RemoveRef(type) == DT_STRING || RemoveRef(type) == DT_VARIANT; };
  return std::any_of(node.input_types().begin(), node.input_types().end(), is_local) ||
         std::any_of(node.output_types().begin(), node.output_types().end(), is_local);
}

// Whether cost may decide where the group is, if it has several candidates.
bool MayMove(const PlacementGroup& group) {
  if (group.fixed || !group.error.ok()) return false;
  // With a variable its initialiser moves, which may be a random op.
  const bool has_variable =
      std::any_of(group.members.begin(), group.members.end(), [](const Node* node) { return HoldsVariable(*node); });
  return std::all_of(group.members.begin(), group.members.end(), [&](const Node* node) {
    const bool is_placeholder = node->op() == "Placeholder" || node->op() == "PlaceholderV2";
    const bool keeps_other_state =
        node->IsStateful() && (IsFunctionCall(*node) || !(has_variable || TakesResource(*node)));
    return !is_placeholder && !keeps_other_state && !HasStringsOrVariants(*node);
  });
}

class UnitFinder {
 public:
  UnitFinder(const UnitOptions& options, const PlacementGroups& groups, const std::vector<std::string>& given)
      : options_(options), groups_(groups), parent_(groups.groups.size()), of_root_(groups.groups.size()) {
    std::iota(parent_.begin(), parent_.end(), 0);
    for (int i = 0; i < num_groups(); ++i) of_root_[i] = UnitOf(i, given);
  }

  PlacementUnits Run(const Graph& graph) {
    JoinLoops(graph);
    for (int i = 0; i < num_groups(); ++i) {
      if (const int consumer = SoleConsumer(groups_, i); consumer >= 0) Follow(i, consumer);
    }
    PlacementUnits result;
    result.unit_of_group.assign(num_groups(), -1);
    std::vector<int> index(num_groups(), -1);
    for (int i = 0; i < num_groups(); ++i) {
      const int root = Root(i);
      if (of_root_[root].candidates.empty()) continue;
      if (index[root] < 0) {
        index[root] = static_cast<int>(result.units.size());
        result.units.push_back(of_root_[root]);
        std::vector<int>& candidates = result.units.back().candidates;
        const auto given = std::find(candidates.begin(), candidates.end(), of_root_[root].given);
        std::rotate(candidates.begin(), given, given + 1);
      }
      result.unit_of_group[i] = index[root];
      result.units[index[root]].groups.push_back(i);
    }
    return result;
  }

 private:
  int num_groups() const { return static_cast<int>(groups_.groups.size()); }

  PlacementUnit UnitOf(int index, const std::vector<std::string>& given) const {
    const PlacementGroup& group = groups_.groups[index];
    PlacementUnit unit;
    const auto name = DeviceName::ParseFull(given[group.members[0]->id()]);
    if (!name.ok()) return unit;
    unit.given = options_.costs->Find(*name);
    if (unit.given < 0) return unit;
    unit.candidates.push_back(unit.given);
    if (!MayMove(group)) return unit;
    for (int i = 0; i < options_.costs->num_devices(); ++i) {
      const DeviceCosts& device = options_.costs->device(i);
      if (i != unit.given && !device.avoid && Admits(group, device.name) &&
          HasKernelsOn(*options_.kernels, group, device.name)) {
        unit.candidates.push_back(i);
      }
    }
    // Soft placement has chosen a device that was not asked for.
    const DeviceCosts& first = options_.costs->device(unit.given);
    if (!Admits(group, first.name)) unit.candidates = {unit.given};
    unit.is_open = unit.candidates.size() > 1;
    return unit;
  }

  int Root(int i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  // The candidates of both, in the order of y's.
  std::vector<int> Common(int x, int y) const {
    const std::vector<int>& others = of_root_[x].candidates;
    std::vector<int> both;
    for (const int device : of_root_[y].candidates) {
      if (std::find(others.begin(), others.end(), device) != others.end()) both.push_back(device);
    }
    return both;
  }
  // Joins the unit of group `a` to that of `b` if it can be wherever that may be.
  void Follow(int a, int b) {
    if (Common(Root(a), Root(b)).size() == of_root_[Root(b)].candidates.size()) Join(a, b);
  }
  // Joins the units of two groups if a device can take both. It is where that of `b` is so far, if possible.
  void Join(int a, int b) {
    int x = Root(a), y = Root(b);
    std::vector<int> both = Common(x, y);
    if (x == y || both.empty()) return;
    const int given = of_root_[y].given;
    if (x > y) std::swap(x, y);
    parent_[y] = x;
    of_root_[x].given = std::find(both.begin(), both.end(), given) != both.end() ? given : both.front();
    of_root_[x].is_open = both.size() > 1;
    of_root_[x].candidates = std::move(both);
  }

  // An iteration of a loop over several devices costs a round trip.
  void JoinLoops(const Graph& graph) {
    const absl::StatusOr<ControlFlowInfo> info = AnalyzeControlFlow(graph);
    if (!info.ok()) return;  // the step will fail, with that error
    std::vector<int> first(info->frames.size(), -1);
    for (const Node* node : graph.nodes()) {
      int frame = info->frame_of[node->id()];
      if (frame <= 0) continue;
      while (info->frames[frame].parent > 0) frame = info->frames[frame].parent;
      const int group = groups_.group_of[node->id()];
      if (first[frame] >= 0) Join(group, first[frame]);
      if (first[frame] < 0) first[frame] = group;
    }
  }

  const UnitOptions& options_;
  const PlacementGroups& groups_;
  std::vector<int> parent_;
  std::vector<PlacementUnit> of_root_;
};

}  // namespace

bool HoldsVariable(const Node& node) {
  return node.op() == "VarHandleOp" || node.op() == "VariableV2" || node.op() == "Variable";
}

PlacementUnits FindUnits(const UnitOptions& options, const Graph& graph, const PlacementGroups& groups,
                         const std::vector<std::string>& given) {
  return UnitFinder(options, groups, given).Run(graph);
}

}  // namespace weir
