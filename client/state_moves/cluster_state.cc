#include "client/state_moves/cluster_state.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "absl/strings/str_join.h"
#include "client/state_moves/concurrent_calls.h"
#include "core/clock.h"
#include "core/device/device_name.h"
#include "core/tensor/tensor_shape.h"
#include "core/tensor/types.h"
#include "distribute/membership/cluster_view.h"
#include "distribute/transport/membership/membership_client.h"

namespace weir {
namespace {

constexpr absl::Duration kAnswerTimeout = absl::Seconds(3);

int64_t BytesOf(const StateUse& use) {
  const absl::StatusOr<PartialTensorShape> shape = PartialTensorShape::FromProto(use.shape());
  if (!shape.ok() || !shape->IsFullyDefined()) return 0;
  const absl::StatusOr<TensorShape> full = shape->AsTensorShape();
  if (!full.ok()) return 0;
  return full->num_elements() * static_cast<int64_t>(DataTypeSize(static_cast<DataType>(use.dtype())));
}

// Sets of the answers' groups that share variables.
class GroupSets {
 public:
  explicit GroupSets(size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0); }
  size_t Root(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void Join(size_t a, size_t b) { parent_[std::max(Root(a), Root(b))] = std::min(Root(a), Root(b)); }

 private:
  std::vector<size_t> parent_;
};

// The variables that no open session's graph has, a group each.
std::vector<StateGroup> UnusedVariables(const std::vector<ListStateResponse>& answers) {
  std::set<StateKey> used;
  for (const ListStateResponse& answer : answers) {
    for (const StateGroup& group : answer.group()) {
      for (const StateUse& use : group.use()) used.insert(ToStateKey(use.state()));
    }
  }
  std::vector<StateGroup> unused;
  for (const ListStateResponse& answer : answers) {
    for (const StateUse& use : answer.held()) {
      if (used.insert(ToStateKey(use.state())).second) *unused.emplace_back().add_use() = use;
    }
  }
  return unused;
}

// The group of the variable to which an optimizer's slot belongs, by TensorFlow's names: that of "layer/kernel" for
// "layer/kernel/Momentum".
std::optional<size_t> OwnerOf(const StateKey& slot, const std::map<StateKey, size_t>& groups) {
  StateKey owner = slot;
  const size_t end = slot.name.rfind('/');
  if (end == std::string::npos) return std::nullopt;
  owner.name.resize(end);
  const auto found = groups.find(owner);
  return found == groups.end() ? std::nullopt : std::make_optional(found->second);
}

}  // namespace

bool IsOfJob(const std::string& task, const std::string& job) {
  const absl::StatusOr<DeviceName> name = DeviceName::Parse(task);
  return name.ok() && name->job == job;
}

bool VariableGroup::IsReachedOn(const std::string& task) const {
  const absl::StatusOr<DeviceName> name = DeviceName::Parse(task);
  const auto matches = [&](const std::string& filter) {
    const absl::StatusOr<DeviceName> spec = DeviceName::Parse(filter);
    return spec.ok() && name.ok() && name->IsCompatibleWith(*spec);
  };
  return std::all_of(device_filters.begin(), device_filters.end(), [&](const std::vector<std::string>& filters) {
    return filters.empty() || std::any_of(filters.begin(), filters.end(), matches);
  });
}

std::vector<VariableGroup> JoinGroups(const std::vector<ListStateResponse>& answers, const MovedState& moved) {
  std::vector<const StateGroup*> parts;
  for (const ListStateResponse& answer : answers) {
    for (const StateGroup& group : answer.group()) {
      if (!group.use().empty()) parts.push_back(&group);
    }
  }
  const std::vector<StateGroup> unused = UnusedVariables(answers);
  for (const StateGroup& group : unused) parts.push_back(&group);
  GroupSets sets(parts.size());
  std::map<StateKey, size_t> first_with;
  for (size_t i = 0; i < parts.size(); ++i) {
    for (const StateUse& use : parts[i]->use()) {
      const auto [known, is_new] = first_with.try_emplace(ToStateKey(use.state()), i);
      if (!is_new) sets.Join(i, known->second);
    }
  }
  for (size_t i = parts.size() - unused.size(); i < parts.size(); ++i) {
    if (const auto owner = OwnerOf(ToStateKey(parts[i]->use(0).state()), first_with)) sets.Join(i, *owner);
  }
  std::map<size_t, VariableGroup> groups;
  std::map<size_t, std::map<StateKey, const StateUse*>> variables;
  for (size_t i = 0; i < parts.size(); ++i) {
    VariableGroup& group = groups[sets.Root(i)];
    group.steps += parts[i]->steps();
    if (group.obstacle.empty()) group.obstacle = parts[i]->obstacle();
    if (group.function.empty()) group.function = parts[i]->function();
    group.device_filters.emplace_back(parts[i]->device_filter().begin(), parts[i]->device_filter().end());
    for (const StateUse& use : parts[i]->use()) variables[sets.Root(i)].try_emplace(ToStateKey(use.state()), &use);
  }
  std::vector<VariableGroup> joined;
  for (auto& [root, group] : groups) {
    for (const auto& [key, use] : variables[root]) {
      // Those that have never moved follow the others.
      if (group.task.empty() || !moved.HomeOf(key).empty()) group.task = moved.HolderOf(key);
      group.bytes += BytesOf(*use);
      group.variables.push_back(*use);
    }
    joined.push_back(std::move(group));
  }
  std::sort(joined.begin(), joined.end(), [](const VariableGroup& a, const VariableGroup& b) {
    return ToStateKey(a.variables[0].state()) < ToStateKey(b.variables[0].state());
  });
  return joined;
}

absl::Status ClusterState::CheckSessionsFollow() const {
  if (!hung.empty()) {
    return errors::FailedPrecondition("No variables are moved while tasks hang, because their sessions may use them: ",
                                      absl::StrJoin(hung, ", "));
  }
  if (!foreign.empty()) {
    return errors::FailedPrecondition(
        "No variables are moved in a cluster with tasks of another runtime, whose sessions "
        "would not find them: ",
        absl::StrJoin(foreign, ", "));
  }
  return absl::OkStatus();
}

absl::StatusOr<ClusterState> LookAtCluster(const std::string& address) {
  ClusterState state;
  MembershipClient any(address);
  ASSIGN_OR_RETURN(state.view, any.GetView({.deadline = MonotonicNow() + kAnswerTimeout}));
  std::vector<std::string> tasks;
  std::vector<std::string> addresses;
  for (const Member& member : state.view.member()) {
    if (member.state() == Member::JOINING) continue;
    tasks.push_back(TaskNameOf(member));
    addresses.push_back(member.address());
  }
  std::vector<absl::StatusOr<ListStateResponse>> answers(tasks.size());
  CallConcurrently(tasks.size(), [&](size_t i) {
    answers[i] = MembershipClient(addresses[i]).ListState({.deadline = MonotonicNow() + kAnswerTimeout});
  });
  std::vector<ListStateResponse> known;
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (answers[i].ok()) {
      state.tables[tasks[i]].assign(answers[i]->held_table().begin(), answers[i]->held_table().end());
      known.push_back(*std::move(answers[i]));
    } else if (absl::IsUnavailable(answers[i].status())) {
      state.down.push_back(tasks[i]);
    } else {
      (absl::IsUnimplemented(answers[i].status()) ? state.foreign : state.hung).push_back(tasks[i]);
    }
  }
  state.groups = JoinGroups(known, MovedState(state.view));
  return state;
}

}  // namespace weir
