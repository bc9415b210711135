#include "client/state_moves/load_watch.h"

#include <algorithm>

namespace weir {
namespace {

constexpr BalanceMeasure kMeasure = BalanceMeasure::kLoad;

StateKey KeyOf(const VariableGroup& group) { return ToStateKey(group.variables[0].state()); }

// By task.
std::map<std::string, double> Loads(const ClusterState& state, const std::vector<std::string>& tasks) {
  std::map<std::string, double> loads;
  for (const std::string& task : tasks) loads[task] = 0;
  for (const VariableGroup& group : state.groups) loads[group.task] += LoadOf(group, kMeasure);
  return loads;
}

double Largest(const std::map<std::string, double>& loads) {
  double largest = 0;
  for (const auto& [task, load] : loads) largest = std::max(largest, load);
  return largest;
}

double LargestAfter(ClusterState state, const std::vector<PlannedMove>& moves, const std::vector<std::string>& tasks) {
  for (const PlannedMove& move : moves) state.groups[move.group].task = move.task;
  return Largest(Loads(state, tasks));
}

// Removes moves without which the most loaded task has hardly more to do, the smallest first.
void DropUseless(const ClusterState& state, const std::vector<std::string>& tasks, std::vector<PlannedMove>* moves) {
  constexpr double kHardly = 1.02;
  const auto load = [&](const PlannedMove& move) { return LoadOf(state.groups[move.group], kMeasure); };
  std::stable_sort(moves->begin(), moves->end(), [&](const auto& a, const auto& b) { return load(a) > load(b); });
  std::map<std::string, double> loads = Loads(state, tasks);
  for (const PlannedMove& move : *moves) {
    loads[state.groups[move.group].task] -= load(move);
    loads[move.task] += load(move);
  }
  const double most = kHardly * Largest(loads);
  for (size_t i = moves->size(); i-- > 0;) {
    const PlannedMove& move = (*moves)[i];
    const std::string& from = state.groups[move.group].task;
    if (std::find(tasks.begin(), tasks.end(), from) == tasks.end() || loads[from] + load(move) > most) continue;
    loads[from] += load(move);
    loads[move.task] -= load(move);
    moves->erase(moves->begin() + static_cast<std::ptrdiff_t>(i));
  }
}

}  // namespace

bool LoadWatch::IsUneven(const ClusterState& state, const std::vector<std::string>& tasks) const {
  const std::map<std::string, double> loads = Loads(state, tasks);
  double sum = 0;
  for (const auto& [task, load] : loads) sum += load;
  const double largest = Largest(loads);
  return largest >= rules_.least * absl::ToDoubleSeconds(rules_.window) &&
         largest >= rules_.uneven * sum / static_cast<double>(tasks.size());
}

std::vector<PlannedMove> LoadWatch::Next(const ClusterState& state, const std::vector<std::string>& tasks) {
  ++window_;
  uneven_windows_ = IsUneven(state, tasks) ? uneven_windows_ + 1 : 0;
  if (uneven_windows_ < rules_.windows) return {};
  ClusterState movable = state;
  for (VariableGroup& group : movable.groups) {
    const auto moved = moved_in_.find(KeyOf(group));
    if (moved == moved_in_.end() || window_ - moved->second > rules_.rest || !group.obstacle.empty()) continue;
    group.obstacle = "it was moved a moment ago";
  }
  // The inner half of what is tolerated, so that a small change does not set it off again.
  std::vector<PlannedMove> moves = BalanceBy(kMeasure, (rules_.uneven - 1) / 2)(movable, tasks);
  DropUseless(state, tasks, &moves);
  const double largest = Largest(Loads(state, tasks));
  if (LargestAfter(state, moves, tasks) > (1 - rules_.gain) * largest) return {};
  uneven_windows_ = 0;
  for (const PlannedMove& move : moves) moved_in_[KeyOf(state.groups[move.group])] = window_;
  return moves;
}

}  // namespace weir
