#include "distribute/membership/state_moves.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/device/device_name.h"
#include "distribute/membership/cluster_view.h"
#include "distribute/membership/moved_state.h"
#include "distribute/membership/standbys.h"

namespace weir {
namespace {

constexpr size_t kMaxStateNameLength = 4096;

absl::StatusOr<std::string> TaskOfState(const StateName& state) {
  if (state.name().empty() || state.container().empty() || state.name().size() > kMaxStateNameLength ||
      state.container().size() > kMaxStateNameLength) {
    return errors::InvalidArgument("A variable has a container and a name, of at most ", kMaxStateNameLength, " bytes");
  }
  const absl::StatusOr<DeviceName> device = DeviceName::ParseFull(state.device());
  if (!device.ok() || device->ToString() != state.device()) {
    return errors::InvalidArgument("Variable '", absl::CEscape(state.name()), "' is on a malformed device: '",
                                   absl::CEscape(state.device()), "'");
  }
  return device->TaskName();
}

absl::flat_hash_set<std::string> TasksOf(const ClusterView& view) {
  absl::flat_hash_set<std::string> tasks;
  for (const Member& member : view.member()) tasks.insert(TaskNameOf(member));
  return tasks;
}

absl::Status CheckHome(const StateHome& home, const absl::flat_hash_set<std::string>& tasks) {
  RETURN_IF_ERROR(TaskOfState(home.state()).status());
  if (tasks.contains(home.task())) return absl::OkStatus();
  return errors::InvalidArgument("Variable '", absl::CEscape(home.state().name()), "' is said to be on '",
                                 absl::CEscape(home.task()), "', which is not a task of the cluster");
}

// Moves are from and to it.
bool IsInMove(const std::string& task, const ClusterView& view) {
  const StateMove& move = view.move();
  if (move.has_standby()) return move.standby().task() == task || move.standby().standby() == task;
  return std::any_of(move.home().begin(), move.home().end(),
                     [&](const StateHome& home) { return home.task() == task || home.source() == task; });
}

void Succeed(const std::string& task, const std::string& successor, int64_t epoch, ClusterView* view) {
  bool is_known = false;
  auto* const entries = view->mutable_successor();
  for (Successor& entry : *entries) {
    if (entry.task() != task && entry.successor() != task) continue;
    is_known = is_known || entry.task() == task;
    entry.set_successor(successor);
    entry.set_epoch(epoch);
  }
  if (!is_known) {
    Successor* const added = view->add_successor();
    added->set_task(task);
    added->set_successor(successor);
    added->set_epoch(epoch);
  }
  // Nodes that name the successor run there again.
  entries->erase(std::remove_if(entries->begin(), entries->end(),
                                [](const Successor& entry) { return entry.task() == entry.successor(); }),
                 entries->end());
}

}  // namespace

absl::Status BeginMove(const StateMove& move, int64_t epoch, ClusterView* view) {
  if (view->has_move()) {
    return errors::FailedPrecondition("Variables are already being moved (since epoch ", view->move().epoch(),
                                      "): try again when that move has ended");
  }
  if (move.has_standby()) {
    if (!move.home().empty()) return errors::InvalidArgument("A move has variables or a standby, not both");
    RETURN_IF_ERROR(CheckNewStandby(move.standby(), *view));
    *view->mutable_move() = move;
    view->mutable_move()->set_epoch(epoch);
    return absl::OkStatus();
  }
  if (move.home().empty()) return errors::InvalidArgument("A move needs a variable");
  const MovedState known(*view);
  absl::flat_hash_set<StateKey> moved;
  for (const StateHome& home : move.home()) {
    RETURN_IF_ERROR(TaskOfState(home.state()).status());
    const StateKey key = ToStateKey(home.state());
    const std::string source = known.HolderOf(key);
    if (home.source() != source) {
      return errors::Aborted("Variable '", absl::CEscape(key.name), "' of ", key.device, " is on ", source,
                             ", not on '", absl::CEscape(home.source()), "': it has moved meanwhile");
    }
    const Member* const target = FindMember(*view, home.task());
    if (target == nullptr || target->state() != Member::SERVING) {
      return errors::FailedPrecondition("Task '", absl::CEscape(home.task()), "' ",
                                        target == nullptr ? "is not in the cluster" : "is joining or draining",
                                        " and cannot receive variables");
    }
    if (!moved.insert(key).second) {
      return errors::InvalidArgument("Variable '", absl::CEscape(home.state().name()), "' of ", home.state().device(),
                                     " is to be moved twice");
    }
  }
  for (const StateHome& home : view->home()) moved.insert(ToStateKey(home.state()));
  if (moved.size() > kMaxStateHomes) {
    return errors::ResourceExhausted("The cluster can have ", kMaxStateHomes, " moved variables, and would have ",
                                     moved.size());
  }
  *view->mutable_move() = move;
  view->mutable_move()->set_epoch(epoch);
  for (StateHome& home : *view->mutable_move()->mutable_home()) home.set_epoch(epoch);
  return absl::OkStatus();
}

absl::Status FinishMove(int64_t move_epoch, int64_t epoch, ClusterView* view) {
  if (move_epoch != 0 && view->finished_move() == move_epoch) return absl::OkStatus();  // the call was repeated
  if (!view->has_move() || view->move().epoch() != move_epoch) {
    return errors::FailedPrecondition("The move of epoch ", move_epoch, " is not in progress: it took too long, or a ",
                                      "task left. The variables have not moved");
  }
  if (view->move().has_standby()) AddStandby(view->move().standby(), epoch, view);
  absl::flat_hash_map<StateKey, StateHome*> known;
  for (StateHome& home : *view->mutable_home()) known[ToStateKey(home.state())] = &home;
  std::vector<StateHome> added;
  for (const StateHome& moved : view->move().home()) {
    const auto found = known.find(ToStateKey(moved.state()));
    StateHome& home = found != known.end() ? *found->second : added.emplace_back();
    home = moved;
    ForgetStandbysOf(home.task(), epoch, view);  // they have no copy of it
    home.clear_source();
    home.set_epoch(epoch);
  }
  for (StateHome& home : added) *view->add_home() = std::move(home);
  view->clear_move();
  view->set_finished_move(move_epoch);
  return absl::OkStatus();
}

bool CancelMove(int64_t move_epoch, ClusterView* view) {
  if (!view->has_move() || view->move().epoch() != move_epoch) return false;
  view->clear_move();
  return true;
}

absl::flat_hash_set<std::string> SourcesOfMove(const ClusterView& view) {
  absl::flat_hash_set<std::string> sources;
  for (const StateHome& home : view.move().home()) sources.insert(home.source());
  if (view.move().has_standby()) sources.insert(view.move().standby().task());
  return sources;
}

void ForgetTask(const std::string& task, int64_t epoch, ClusterView* view) {
  if (IsInMove(task, *view)) view->clear_move();
  for (StateHome& home : *view->mutable_home()) {
    if (home.task() != task) continue;
    home.set_task(TaskOfState(home.state()).value_or(""));
    home.set_epoch(epoch);
  }
  const absl::flat_hash_set<std::string> tasks = TasksOf(*view);
  auto* const homes = view->mutable_home();
  homes->erase(
      std::remove_if(homes->begin(), homes->end(), [&](const StateHome& home) { return !tasks.contains(home.task()); }),
      homes->end());
}

absl::Status SetSuccessor(const std::string& task, const std::string& successor, int64_t epoch, ClusterView* view) {
  const Member* const member = FindMember(*view, successor);
  if (member == nullptr || member->state() != Member::SERVING || successor == task) {
    return errors::FailedPrecondition("Task '", absl::CEscape(successor),
                                      "' does not serve, and cannot take over from ", task);
  }
  const bool is_known = std::any_of(view->successor().begin(), view->successor().end(),
                                    [&](const Successor& entry) { return entry.task() == task; });
  if (!is_known && view->successor_size() >= kMaxMembers) {
    return errors::ResourceExhausted("The cluster has ", kMaxMembers,
                                     " tasks that have handed over, which is the limit");
  }
  Succeed(task, successor, epoch, view);
  ForgetStandbysOf(task, epoch, view);
  ForgetStandbysOf(successor, epoch, view);  // nodes that name the task may have made new variables there
  return absl::OkStatus();
}

void TakeOver(const std::string& task, const std::string& successor, int64_t epoch, ClusterView* view) {
  if (IsInMove(task, *view)) view->clear_move();
  for (StateHome& home : *view->mutable_home()) {
    if (home.task() != task) continue;
    home.set_task(successor);
    home.set_epoch(epoch);
  }
  Succeed(task, successor, epoch, view);
}

void ForgetSuccessor(const std::string& task, ClusterView* view) {
  auto* const successors = view->mutable_successor();
  successors->erase(std::remove_if(successors->begin(), successors->end(),
                                   [&](const Successor& entry) { return entry.successor() == task; }),
                    successors->end());
}

absl::Status CheckState(const ClusterView& view) {
  if (view.home_size() > kMaxStateHomes || view.move().home_size() > kMaxStateHomes) {
    return errors::InvalidArgument("The view of the cluster has ", std::max(view.home_size(), view.move().home_size()),
                                   " moved variables; the limit is ", kMaxStateHomes);
  }
  const absl::flat_hash_set<std::string> tasks = TasksOf(view);
  RETURN_IF_ERROR(CheckStandbys(view));
  for (const StateHome& home : view.home()) RETURN_IF_ERROR(CheckHome(home, tasks));
  for (const StateHome& home : view.move().home()) RETURN_IF_ERROR(CheckHome(home, tasks));
  if (view.successor_size() > kMaxMembers) {
    return errors::InvalidArgument("The view of the cluster has ", view.successor_size(), " tasks with successors");
  }
  for (const Successor& entry : view.successor()) {
    if (tasks.contains(entry.successor()) && DeviceName::Parse(entry.task()).ok()) continue;
    return errors::InvalidArgument("The view of the cluster has no task '", absl::CEscape(entry.successor()),
                                   "', which it names as the successor of '", absl::CEscape(entry.task()), "'");
  }
  return absl::OkStatus();
}

}  // namespace weir
