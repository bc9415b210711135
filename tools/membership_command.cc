#include <algorithm>

#include "absl/strings/str_format.h"
#include "client/state_moves/hand_over.h"
#include "client/state_moves/rebalance.h"
#include "client/state_moves/standby_copies.h"
#include "core/clock.h"
#include "distribute/membership/cluster_view.h"
#include "distribute/transport/membership/membership_client.h"
#include "tools/membership_command.h"
#include "tools/running_steps.h"
#include "tools/task_client.h"
#include "tools/variables/variable_share.h"

namespace weir {
namespace {

constexpr absl::Duration kCallTimeout = absl::Seconds(10);

const char* StateName(Member::State state) {
  switch (state) {
    case Member::SERVING:
      return "serving";
    case Member::JOINING:
      return "joining";
    case Member::DRAINING:
      return "draining";
    default:
      return "unknown";
  }
}

void Print(const ClusterView& view, std::ostream& out) {
  out << absl::StrFormat("epoch %d, registrar %s\n", view.epoch(), view.registrar());
  for (const Member& member : view.member()) {
    out << absl::StrFormat("%s %s %s%s\n", TaskNameOf(member), member.address(), StateName(member.state()),
                           member.incarnation() != 0 ? " joined" : "");
  }
  for (const Standby& entry : view.standby()) {
    out << absl::StrFormat("%s stands by for %s\n", entry.standby(), entry.task());
  }
  for (const Successor& entry : view.successor()) {
    out << absl::StrFormat("%s has been replaced by %s\n", entry.task(), entry.successor());
  }
  if (!view.home().empty()) out << absl::StrFormat("%d variables have moved\n", view.home_size());
}

// "/job:worker/task:2" in full.
absl::StatusOr<std::string> TaskOf(const std::string& text) {
  const absl::StatusOr<DeviceName> name = DeviceName::Parse(text);
  if (!name.ok() || !name->job.has_value() || !name->task.has_value()) {
    return errors::InvalidArgument("'", text, "' is not a task: expected /job:NAME/task:INDEX");
  }
  return TaskName(*name->job, *name->task);
}

CallOptions Call() { return {.deadline = MonotonicNow() + kCallTimeout}; }

absl::StatusOr<BalanceMeasure> MeasureOf(const std::string& name) {
  if (name == "bytes") return BalanceMeasure::kBytes;
  if (name == "steps") return BalanceMeasure::kSteps;
  if (name == "traffic") return BalanceMeasure::kTraffic;
  if (name == "load") return BalanceMeasure::kLoad;
  return errors::InvalidArgument("Variables are balanced by bytes, steps, traffic or load, not '", name, "'");
}

// Lines about moves, as they are made.
void Narrate(bool only_plan, std::ostream& out, RebalanceOptions* options) {
  const auto name = [](const VariableGroup& group) {
    const size_t others = group.variables.size() - 1;
    return others == 0 ? group.variables[0].state().name()
                       : absl::StrFormat("%s and %d more", group.variables[0].state().name(), others);
  };
  if (only_plan) {
    options->planned = [=, &out](const VariableGroup& group, const std::string& task) {
      out << absl::StrFormat("%s (%d bytes): %s -> %s\n", name(group), group.bytes, group.task, task);
    };
  }
  options->moved = [=, &out](const VariableGroup& group, const std::string& task, const StateMoveReport& report) {
    out << absl::StrFormat("%s (%d bytes): %s -> %s, steps waited for at most %s\n", name(group), group.bytes,
                           group.task, task, absl::FormatDuration(absl::Ceil(report.pause, absl::Microseconds(100))))
        << std::flush;
  };
}

}  // namespace

absl::Status RebalanceVariables(const RebalanceCommand& command, std::ostream& out) {
  ASSIGN_OR_RETURN(const std::string address, AddressOfTarget(command.target));
  ASSIGN_OR_RETURN(const BalanceMeasure measure, MeasureOf(command.by));
  RebalanceOptions options{.job = command.job, .policy = BalanceBy(measure), .only_plan = command.dry_run};
  if (measure != BalanceMeasure::kBytes) options.window = command.window;
  options.move.max_pause = command.max_pause;
  Narrate(command.dry_run, out, &options);
  return Rebalance(address, options);
}

absl::Status ChangeStandbys(const StandbyCommand& command, std::ostream& out) {
  ASSIGN_OR_RETURN(const std::string address, AddressOfTarget(command.target));
  StandbyOptions options{.job = command.job, .count = command.count};
  options.added = [&out](const std::string& task, const std::string& standby, const StateMoveReport& report) {
    out << absl::StrFormat("%s stands by for %s: copied %d variables (%d bytes), updates waited for at most %s\n",
                           standby, task, report.variables, report.bytes,
                           absl::FormatDuration(absl::Ceil(report.pause, absl::Microseconds(100))))
        << std::flush;
  };
  if (!command.task.empty() && !command.remove) {
    if (command.on.empty()) return errors::InvalidArgument("--task needs --on, the task that is to stand by for it");
    ASSIGN_OR_RETURN(const std::string task, TaskOf(command.task));
    ASSIGN_OR_RETURN(const std::string standby, TaskOf(command.on));
    ASSIGN_OR_RETURN(const ClusterState state, LookAtCluster(address));
    ASSIGN_OR_RETURN(const StateMoveReport report, CopyToStandby(address, state, task, standby, options.move));
    options.added(task, standby, report);
    return absl::OkStatus();
  }
  if (!command.remove) return AddStandbys(address, options);
  ASSIGN_OR_RETURN(const ClusterView view, MembershipClient(address).GetView(Call()));
  for (const Standby& entry : view.standby()) {
    if (!IsOfJob(entry.task(), command.job)) continue;
    if (!command.task.empty() && entry.task() != TaskOf(command.task).value_or("")) continue;
    if (!command.on.empty() && entry.standby() != TaskOf(command.on).value_or("")) continue;
    RETURN_IF_ERROR(RemoveStandby(address, entry.task(), entry.standby()));
    out << absl::StrFormat("%s no longer stands by for %s\n", entry.standby(), entry.task());
  }
  return absl::OkStatus();
}

absl::Status PrintMembers(const std::string& target, std::ostream& out) {
  ASSIGN_OR_RETURN(const std::string address, AddressOfTarget(target));
  MembershipClient client(address);
  ASSIGN_OR_RETURN(const ClusterView view, client.GetView(Call()));
  Print(view, out);
  return absl::OkStatus();
}

absl::Status DrainTask(const DrainCommand& command, std::ostream& out) {
  ASSIGN_OR_RETURN(const std::string address, AddressOfTarget(command.target));
  ASSIGN_OR_RETURN(const std::string task, TaskOf(command.task));
  MembershipClient client(address);
  if (command.remove) {
    ASSIGN_OR_RETURN(const ClusterView known, client.GetView(Call()));
    if (task == known.registrar()) {
      return errors::FailedPrecondition("Task ", task,
                                        " is this cluster's registrar, which makes its changes: it cannot be "
                                        "removed");
    }
  }
  ASSIGN_OR_RETURN(ClusterView view, client.Drain(Call(), task, command.undo));
  const Member* const member = FindMember(view, task);
  const bool moves_variables = !command.undo && !command.keep_variables && IsOfJob(task, kParameterServerJob);
  bool has_successor = false;
  if (moves_variables && member != nullptr) {
    RebalanceOptions options{.job = kParameterServerJob};
    Narrate(false, out, &options);
    absl::Status moved;
    if (command.remove) {
      const absl::StatusOr<bool> handed_over = HandOverTask(address, task, member->address(), options, command.timeout);
      moved = handed_over.status();
      has_successor = handed_over.value_or(false);
    } else {
      moved = HandOverVariables(address, task, options, command.timeout).status();
    }
    if (!moved.ok()) {
      return Annotate(moved, absl::StrCat("Task ", task,
                                          " is draining, but not all of its variables were moved; "
                                          "--keep-variables leaves them"));
    }
  }
  if (command.remove) {
    if (!has_successor && member != nullptr) {
      absl::Status ended = AwaitRunningSteps(task, member->address(), command.timeout);
      if (!ended.ok()) {
        return absl::Status(ended.code(), absl::StrCat(ended.message(),
                                                       ", and stays draining; retry with a longer "
                                                       "--timeout, or run weir drain --undo"));
      }
    }
    ASSIGN_OR_RETURN(view, client.Leave(Call(), task));
  }
  Print(view, out);
  return absl::OkStatus();
}

}  // namespace weir
