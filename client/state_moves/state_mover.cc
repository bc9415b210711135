#include "client/state_moves/state_mover.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/ops.h"
#include "client/session.h"
#include "client/state_moves/concurrent_calls.h"
#include "client/state_moves/table_copies.h"
#include "core/clock.h"
#include "core/device/device_name.h"
#include "core/tensor/tensor_shape.h"
#include "distribute/membership/cluster_view.h"
#include "distribute/transport/membership/membership_client.h"
#include "graph/state_homes.h"
#include "tensorflow/core/protobuf/config.pb.h"

namespace weir {
namespace {

constexpr absl::Duration kReadTimeout = absl::Seconds(10);

CallOptions Within(absl::Duration timeout) { return {.deadline = MonotonicNow() + timeout}; }

absl::StatusOr<StatePlace> PlaceOn(const StateKey& key, const std::string& task) {
  ASSIGN_OR_RETURN(const DeviceName origin, DeviceName::ParseFull(key.device));
  ASSIGN_OR_RETURN(const DeviceName wanted, DeviceName::Parse(task));
  return StatePlace{origin.OverriddenBy(wanted).ToString(), ContainerOn(key, wanted.TaskName())};
}

// It needs these tasks alone: others may be down.
SessionOptions MovingSession(absl::Duration timeout, const std::set<std::string>& tasks) {
  SessionOptions options;
  for (const std::string& task : tasks) options.config->add_device_filters(task);
  options.config->set_operation_timeout_in_ms(absl::ToInt64Milliseconds(timeout));
  auto* const rewrite = options.config->mutable_graph_options()->mutable_rewrite_options();
  rewrite->add_custom_optimizers()->set_name(kMovesStateOptimizer);
  return options;
}

// The map as it is, and the owner that the device of a table in parts is by it.
absl::Status ReadMap(const std::string& address, const HeldTable& table, TableMap* map) {
  const Scope scope = Scope::NewRoot();
  const Output handle = TableHandle(scope, map->table, map->place);
  const auto parts = ops::EmbeddingMapRead(scope.WithDevice(map->place.device), handle);
  RETURN_IF_ERROR(scope.status());
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session,
                   Session::Connect(absl::StrCat("grpc://", address), scope, MovingSession(kReadTimeout, {map->task})));
  ASSIGN_OR_RETURN(const std::vector<Tensor> read, session->Run({parts.tasks, parts.epoch}));
  map->epoch = read[1].scalar<int64_t>();
  if (table.node().op() == "EmbeddingMap") return absl::OkStatus();
  ASSIGN_OR_RETURN(const DeviceName device, DeviceName::ParseFull(table.state().device()));
  for (int i = 0; i < read[0].NumElements(); ++i) {
    map->self = i;
    const absl::StatusOr<DeviceName> task = DeviceName::Parse(std::string(read[0].flat<tstring>()[i]));
    if (task.ok() && task->IsCompatibleWith(device)) return absl::OkStatus();
  }
  return errors::FailedPrecondition("Table '", table.state().name(), "' of ", table.state().device(),
                                    " is not in the map of its parts");
}

// Copies variables and tables between two tasks.
class Copier {
 public:
  // `maps` are those of tables in parts, by the tables' position.
  static absl::StatusOr<std::unique_ptr<Copier>> Prepare(const std::string& address, const VariableGroup& group,
                                                         const std::string& task, absl::Duration max_pause,
                                                         const std::map<size_t, TableMap>& maps = {}) {
    auto copier = std::unique_ptr<Copier>(new Copier);
    if (group.variables.empty() && group.tables.empty()) return copier;
    for (const StateUse& use : group.variables) RETURN_IF_ERROR(copier->Add(use, group.task, task));
    for (size_t i = 0; i < group.tables.size(); ++i) {
      const auto map = maps.find(i);
      RETURN_IF_ERROR(copier->AddTable(group.tables[i], group.task, task, map == maps.end() ? nullptr : &map->second));
    }
    RETURN_IF_ERROR(copier->scope_.status());
    std::set<std::string> ends = {group.task, task};
    for (const auto& [table, map] : maps) ends.insert(map.task);
    const SessionOptions options = MovingSession(max_pause, ends);
    ASSIGN_OR_RETURN(copier->session_, Session::Connect(absl::StrCat("grpc://", address), copier->scope_, options));
    // Registers the graphs, which takes most of the time.
    ASSIGN_OR_RETURN(copier->are_initialized_, copier->session_->MakeCallable({}, copier->flags_));
    ASSIGN_OR_RETURN(copier->copy_all_, copier->session_->MakeCallable({}, {}, copier->copies_));
    ASSIGN_OR_RETURN(copier->initialized_, copier->CountInitialized());
    // Opens links between the tasks, and touches the memory that the copy will need. Changes no variable.
    if (copier->initialized_ == static_cast<int>(copier->copies_.size())) {
      for (int rounds = 0; rounds < 2; ++rounds) {
        const absl::Time began = MonotonicNow();
        RETURN_IF_ERROR(copier->session_->RunTargets(copier->transfers_));
        copier->estimate_ = MonotonicNow() - began;
      }
    }
    return copier;
  }

  // How many variables had a value before the move, and how long it took to send them.
  int initialized() const { return initialized_; }
  absl::Duration estimate() const { return estimate_; }

  // Returns the number of variables that have a value.
  absl::StatusOr<int> Copy() {
    if (copies_.empty()) return 0;
    if (initialized_ == static_cast<int>(copies_.size())) {
      const absl::Status all = copy_all_->Run({}).status();
      if (all.ok()) return initialized_;
      if (!absl::IsFailedPrecondition(all)) return all;
    }
    // Some have no value.
    ASSIGN_OR_RETURN(const std::vector<Tensor> flags, are_initialized_->Run({}));
    std::vector<Operation> some;
    for (size_t i = 0; i < flags.size(); ++i) {
      if (flags[i].scalar<bool>()) some.push_back(copies_[i]);
    }
    if (!some.empty()) RETURN_IF_ERROR(session_->RunTargets(some));
    return static_cast<int>(some.size());
  }

 private:
  absl::StatusOr<int> CountInitialized() {
    ASSIGN_OR_RETURN(const std::vector<Tensor> flags, are_initialized_->Run({}));
    return static_cast<int>(
        std::count_if(flags.begin(), flags.end(), [](const Tensor& flag) { return flag.scalar<bool>(); }));
  }

  absl::Status Add(const StateUse& use, const std::string& from_task, const std::string& to_task) {
    const StateKey key = ToStateKey(use.state());
    ASSIGN_OR_RETURN(const StatePlace from, PlaceOn(key, from_task));
    ASSIGN_OR_RETURN(const StatePlace to, PlaceOn(key, to_task));
    ASSIGN_OR_RETURN(const PartialTensorShape shape, PartialTensorShape::FromProto(use.shape()));
    const Scope source = scope_.WithDevice(from.device), target = scope_.WithDevice(to.device);
    const auto dtype = static_cast<DataType>(use.dtype());
    if (use.op() == "VarHandleOp") {
      const auto variable = [&](const Scope& scope, const StatePlace& place) {
        return ops::VarHandleOp(scope, dtype, shape, {.container = place.container, .shared_name = key.name});
      };
      const Output handle = variable(source, from);
      flags_.push_back(ops::VarIsInitializedOp(source, handle));
      const Output value = ops::ReadVariableOp(source, handle, dtype);
      transfers_.push_back(ops::Identity(target, value).op());
      copies_.push_back(ops::AssignVariableOp(target, variable(target, to), value));
      return absl::OkStatus();
    }
    const auto variable = [&](const Scope& scope, const StatePlace& place) {
      return ops::VariableV2(scope, shape, dtype, {.container = place.container, .shared_name = key.name});
    };
    const Output ref = variable(source, from);
    flags_.push_back(ops::IsVariableInitialized(source, ref));
    const Output value = ops::Identity(source, ref);
    transfers_.push_back(ops::Identity(target, value).op());
    copies_.push_back(ops::Assign(target, variable(target, to), value, {.validate_shape = false}).op());
    return absl::OkStatus();
  }

  absl::Status AddTable(const HeldTable& table, const std::string& from_task, const std::string& to_task,
                        const TableMap* map) {
    const StateKey key = ToStateKey(table.state());
    ASSIGN_OR_RETURN(const StatePlace from, PlaceOn(key, from_task));
    ASSIGN_OR_RETURN(const StatePlace to, PlaceOn(key, to_task));
    ASSIGN_OR_RETURN(const TableCopy copy, AddTableCopy(scope_, table, from, to, map));
    flags_.push_back(copy.has_value);
    transfers_.push_back(copy.transfer);
    copies_.push_back(copy.copy);
    return absl::OkStatus();
  }

  Scope scope_ = Scope::NewRoot();
  std::vector<Output> flags_;                  // whether each has a value
  std::vector<Operation> copies_, transfers_;  // of each; a transfer drops the value on the target
  int initialized_ = 0;
  absl::Duration estimate_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Session::Callable> are_initialized_, copy_all_;
};

// A task without an answer may be down, hung or cut off: the fence keeps its steps away.
bool HasNoAnswer(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) || absl::IsUnimplemented(status) ||
         absl::IsCancelled(status) || absl::IsResourceExhausted(status);
}

// Connections to the tasks of a cluster.
class Tasks {
 public:
  // Opens all at once, so that a move need not wait for it.
  static absl::StatusOr<std::unique_ptr<Tasks>> Connect(const ClusterView& view, absl::Duration timeout) {
    auto tasks = std::make_unique<Tasks>();
    for (const Member& member : view.member()) {
      if (member.state() == Member::JOINING) continue;
      tasks->clients_[TaskNameOf(member)] = std::make_unique<MembershipClient>(member.address());
    }
    tasks->ForAll([&](MembershipClient& client) { return client.GetView(Within(timeout)).status(); });
    return tasks;
  }

  absl::StatusOr<MembershipClient*> Find(const std::string& task) const {
    const auto found = clients_.find(task);
    if (found != clients_.end()) return found->second.get();
    return errors::NotFound("Task ", task, " is not in the cluster");
  }

  // All masters hold back their steps, and the task that gets the variables knows that it does.
  absl::Status HoldSteps(const ClusterView& view, const std::string& target, absl::Duration timeout) const {
    const std::map<std::string, absl::Status> held =
        ForAll([&](MembershipClient& client) { return client.HoldState(Within(timeout), view, /*fence=*/false); });
    for (const auto& [task, status] : held) {
      if (!status.ok() && (task == target || !HasNoAnswer(status))) {
        return Annotate(status, absl::StrCat("Holding back steps on ", task));
      }
    }
    return absl::OkStatus();
  }

 private:
  std::map<std::string, absl::Status> ForAll(const std::function<absl::Status(MembershipClient&)>& call) const {
    std::map<std::string, absl::Status> statuses;
    for (const auto& [task, client] : clients_) statuses[task];
    std::vector<std::pair<MembershipClient*, absl::Status*>> calls;
    for (const auto& [task, client] : clients_) calls.emplace_back(client.get(), &statuses[task]);
    CallConcurrently(calls.size(), [&](size_t i) { *calls[i].second = call(*calls[i].first); });
    return statuses;
  }

  std::map<std::string, std::unique_ptr<MembershipClient>> clients_;
};

// FAILED_PRECONDITION if the standby lacks a device of the task: it could not take over what is placed there.
absl::Status CheckDevices(const std::string& address, const std::string& task, const std::string& standby) {
  const Scope scope = Scope::NewRoot();
  ASSIGN_OR_RETURN(
      const std::unique_ptr<Session> session,
      Session::Connect(absl::StrCat("grpc://", address), scope, MovingSession(kReadTimeout, {task, standby})));
  ASSIGN_OR_RETURN(const std::vector<DeviceInfo> devices, session->ListDevices());
  std::set<std::string> names;
  for (const DeviceInfo& device : devices) names.insert(device.name);
  for (const std::string& name : names) {
    if (!absl::StartsWith(name, task + "/")) continue;
    const std::string needed = standby + name.substr(task.size());
    if (names.contains(needed)) continue;
    return errors::FailedPrecondition("Task ", standby, " cannot stand by for ", task, ": it has no ", needed);
  }
  return absl::OkStatus();
}

// What the task holds, as one group; FAILED_PRECONDITION if some of it cannot be copied.
absl::StatusOr<VariableGroup> AllOn(const std::string& task, const std::string& standby, const ClusterState& state) {
  VariableGroup all{.task = task};
  for (const VariableGroup& group : state.groups) {
    if (group.task != task) continue;
    if (!group.function.empty()) {
      return errors::FailedPrecondition("Task ", task, " cannot have a standby: function ", group.function,
                                        " may change variable '", group.variables[0].state().name(),
                                        "', which a standby does not follow");
    }
    if (!group.IsReachedOn(standby)) {
      return errors::FailedPrecondition("Task ", standby, " cannot stand by for ", task,
                                        ": the device filters of a session that uses variable '",
                                        group.variables[0].state().name(), "' exclude it");
    }
    all.bytes += group.bytes;
    all.variables.insert(all.variables.end(), group.variables.begin(), group.variables.end());
  }
  const auto tables = state.tables.find(task);
  if (tables != state.tables.end()) all.tables = tables->second;
  return all;
}

// The map of a table in parts; fails if no task has it.
absl::StatusOr<TableMap> FindMap(const std::string& address, const HeldTable& table, const ClusterState& state) {
  const std::string name = MapOf(table);
  for (const auto& [task, tables] : state.tables) {
    for (const HeldTable& candidate : tables) {
      if (candidate.state().name() != name || candidate.state().container() != table.state().container()) continue;
      TableMap map{.table = candidate, .task = task};
      ASSIGN_OR_RETURN(map.place, PlaceOn(ToStateKey(candidate.state()), task));
      RETURN_IF_ERROR(ReadMap(address, table, &map));
      return map;
    }
  }
  return errors::FailedPrecondition("Table '", table.state().name(), "' is divided into parts, and no task has '", name,
                                    "', the map of these");
}

// Variables and tables that were made since the cluster was looked at.
absl::Status CheckHasOnly(const VariableGroup& all, const ListStateResponse& held) {
  std::set<StateKey> known;
  for (const StateUse& use : all.variables) known.insert(ToStateKey(use.state()));
  for (const StateUse& use : held.held()) {
    if (known.contains(ToStateKey(use.state()))) continue;
    return errors::Aborted("Variable '", use.state().name(), "' of ", all.task, " was made meanwhile: try again");
  }
  for (const HeldTable& table : all.tables) known.insert(ToStateKey(table.state()));
  for (const HeldTable& table : held.held_table()) {
    if (known.contains(ToStateKey(table.state()))) continue;
    return errors::Aborted("Table '", table.state().name(), "' of ", all.task, " was made meanwhile: try again");
  }
  return absl::OkStatus();
}

// From its beginning to its end, with the copy in between.
absl::StatusOr<StateMoveReport> Transfer(const Tasks& tasks, const std::string& registrar_task,
                                         const VariableGroup& group, const std::string& target,
                                         const MoveStateRequest& begin, Copier* copier,
                                         const StateMoveOptions& options) {
  ASSIGN_OR_RETURN(MembershipClient* const source, tasks.Find(group.task));
  ASSIGN_OR_RETURN(MembershipClient* const registrar, tasks.Find(registrar_task));
  const std::string name = group.variables.empty() ? "" : group.variables[0].state().name();
  const absl::Time start = MonotonicNow();
  ASSIGN_OR_RETURN(const ClusterView moving, registrar->MoveState(Within(options.call_timeout), begin));
  const int64_t move = moving.move().epoch();
  absl::Cleanup cancel = [&] {
    MoveStateRequest request;
    request.set_cancel(move);
    registrar->MoveState(Within(options.call_timeout), request).status().IgnoreError();  // it is cancelled in time
  };
  const auto left = [&] { return start + options.max_pause - MonotonicNow(); };
  const absl::Status held_back = tasks.HoldSteps(moving, target, std::min(options.hold_timeout, left()));
  // A step that waits for another may last; holding others back again does not help.
  if (absl::IsAborted(held_back) && begin.begin().has_standby()) {
    return errors::FailedPrecondition(held_back.message());
  }
  RETURN_IF_ERROR(held_back);
  RETURN_IF_ERROR(source->HoldState(Within(left()), moving, /*fence=*/true));
  if (begin.begin().has_standby()) {
    ASSIGN_OR_RETURN(const ListStateResponse held, source->ListState(Within(left())));
    RETURN_IF_ERROR(CheckHasOnly(group, held));
  }
  ASSIGN_OR_RETURN(const int copied, copier->Copy());
  if (copied < copier->initialized()) {
    return errors::Aborted("Only ", copied, " of ", copier->initialized(), " variables of the group of '", name,
                           "' have a value still: nothing has moved");
  }
  if (left() <= absl::ZeroDuration()) {
    return errors::DeadlineExceeded("Moving variable '", name, "' and its group (", group.bytes,
                                    " bytes) took longer than steps may wait, ",
                                    absl::FormatDuration(options.max_pause));
  }
  std::move(cancel).Cancel();
  MoveStateRequest finish;
  finish.set_finish(move);
  RETURN_IF_ERROR(registrar->MoveState(Within(options.call_timeout), finish).status());
  return StateMoveReport{.variables = copied, .bytes = group.bytes, .pause = MonotonicNow() - start};
}

}  // namespace

absl::StatusOr<StateMoveReport> MoveVariables(const std::string& address, const ClusterView& view,
                                              const VariableGroup& group, const std::string& task,
                                              const StateMoveOptions& options) {
  if (!group.obstacle.empty()) {
    return errors::FailedPrecondition("Variable '", group.variables[0].state().name(),
                                      "' cannot be moved: ", group.obstacle);
  }
  if (!group.IsReachedOn(task)) {
    return errors::FailedPrecondition("Variable '", group.variables[0].state().name(), "' cannot be moved to ", task,
                                      ": the device filters of a session that uses it exclude that task");
  }
  if (task == group.task) return StateMoveReport();
  ASSIGN_OR_RETURN(const std::unique_ptr<Tasks> tasks, Tasks::Connect(view, options.hold_timeout));
  ASSIGN_OR_RETURN(const std::unique_ptr<Copier> copier, Copier::Prepare(address, group, task, options.max_pause));
  if (copier->estimate() > options.max_pause) {
    return errors::DeadlineExceeded("Moving variable '", group.variables[0].state().name(), "' and its group (",
                                    group.bytes, " bytes) would take about ", absl::FormatDuration(copier->estimate()),
                                    ", longer than steps may wait, ", absl::FormatDuration(options.max_pause));
  }
  MoveStateRequest begin;
  for (const StateUse& use : group.variables) {
    StateHome* const home = begin.mutable_begin()->add_home();
    *home->mutable_state() = use.state();
    home->set_task(task);
    home->set_source(group.task);
  }
  return Transfer(*tasks, view.registrar(), group, task, begin, copier.get(), options);
}

absl::StatusOr<StateMoveReport> CopyToStandby(const std::string& address, const ClusterState& state,
                                              const std::string& task, const std::string& standby,
                                              const StateMoveOptions& options) {
  RETURN_IF_ERROR(state.CheckSessionsFollow());
  ASSIGN_OR_RETURN(const VariableGroup all, AllOn(task, standby, state));
  RETURN_IF_ERROR(CheckDevices(address, task, standby));
  ASSIGN_OR_RETURN(const std::unique_ptr<Tasks> tasks, Tasks::Connect(state.view, options.hold_timeout));
  std::map<size_t, TableMap> maps;
  for (size_t i = 0; i < all.tables.size(); ++i) {
    if (MapOf(all.tables[i]).empty()) continue;
    ASSIGN_OR_RETURN(maps[i], FindMap(address, all.tables[i], state));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<Copier> copier,
                   Copier::Prepare(address, all, standby, options.max_pause, maps));
  if (copier->estimate() > options.max_pause) {
    return errors::DeadlineExceeded("Copying the variables of ", task, " (", all.bytes, " bytes) would take about ",
                                    absl::FormatDuration(copier->estimate()), ", longer than steps may wait, ",
                                    absl::FormatDuration(options.max_pause));
  }
  MoveStateRequest begin;
  begin.mutable_begin()->mutable_standby()->set_task(task);
  begin.mutable_begin()->mutable_standby()->set_standby(standby);
  return Transfer(*tasks, state.view.registrar(), all, standby, begin, copier.get(), options);
}

}  // namespace weir
