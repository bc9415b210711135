#include "distribute/membership/member_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "distribute/cluster/address.h"
#include "distribute/membership/moved_state.h"
#include "distribute/membership/standbys.h"
#include "distribute/membership/state_moves.h"

namespace weir {
namespace {

// Views are sent to every task.
constexpr size_t kMaxNameLength = 255;
constexpr int kMaxRemoved = 1000;

// As a ClusterSpec checks a task.
absl::Status CheckTask(const std::string& job, int index, const std::string& address) {
  if (job.size() > kMaxNameLength || address.size() > kMaxNameLength) {
    return errors::InvalidArgument("The names of jobs and addresses have at most ", kMaxNameLength, " bytes");
  }
  if (std::any_of(address.begin(), address.end(), [](char c) { return absl::ascii_iscntrl(c); })) {
    return errors::InvalidArgument("The address '", absl::CEscape(address), "' has control characters");
  }
  ClusterSpec alone;
  RETURN_IF_ERROR(alone.AddTask(job, index, address));
  ASSIGN_OR_RETURN(const Address parsed, Address::Parse(address));
  const bool is_any = !parsed.is_unix() && (parsed.host() == "0.0.0.0" || parsed.host() == "::");
  if (parsed.is_unix() || (parsed.port() != 0 && !is_any)) return absl::OkStatus();
  return errors::InvalidArgument("A task joins with the address at which others reach it, not '", address,
                                 "': name it with --advertise HOST");
}

}  // namespace

MemberTable::MemberTable(const Options& options, ClusterView view, absl::Time now)
    : options_(options), view_(std::move(view)) {
  for (const Member& member : view_.member()) processes_[TaskNameOf(member)] = {.answered = now};
}

Member* MemberTable::Find(absl::string_view task) {
  for (Member& member : *view_.mutable_member()) {
    if (TaskNameOf(member) == task) return &member;
  }
  return nullptr;
}

Member* MemberTable::AtAddress(absl::string_view address) {
  for (Member& member : *view_.mutable_member()) {
    if (member.address() == address) return &member;
  }
  return nullptr;
}

std::string MemberTable::Members() const {
  return absl::StrJoin(view_.member(), ", ",
                       [](std::string* out, const Member& member) { absl::StrAppend(out, TaskNameOf(member)); });
}

absl::Duration MemberTable::SilenceOf(const std::string& task, absl::Time now) const {
  const auto found = processes_.find(task);
  return found == processes_.end() ? absl::InfiniteDuration() : now - found->second.answered;
}

void MemberTable::Changed() {
  view_.set_epoch(view_.epoch() + 1);
  view_.set_registrar_incarnation(options_.registrar_incarnation);
}

absl::Status MemberTable::CheckReplaceable(const Member& member, const std::string& address, absl::Time now) const {
  const std::string task = TaskNameOf(member);
  // A process that starts is not asked yet; one at its address has taken its place already.
  if (member.state() == Member::JOINING && member.address() != address && SilenceOf(task, now) < options_.lease) {
    return errors::AlreadyExists("A process at ", member.address(), " is about to become task ", task);
  }
  if (task == view_.registrar()) {
    return errors::AlreadyExists("Task ", task, " is this cluster's registrar, and answers");
  }
  const absl::Duration silence = SilenceOf(task, now);
  if (silence >= options_.silence) return absl::OkStatus();
  return errors::AlreadyExists("Task ", task, " at ", member.address(), " has answered ",
                               absl::FormatDuration(absl::Trunc(silence, absl::Milliseconds(1))),
                               " ago: another process can take its place once it is stopped");
}

absl::StatusOr<Member> MemberTable::Join(const JoinRequest& request, absl::Time now) {
  if (request.incarnation() == 0) return errors::InvalidArgument("A process that joins has an incarnation");
  if (WasRemoved(view_, request.incarnation())) {
    return errors::FailedPrecondition("This process was removed from the cluster: stop it, and start another to join");
  }
  int index = request.index();
  Member* found = nullptr;
  if (Member* const same = AtAddress(request.address());
      same != nullptr && same->job() == request.job() && (!request.has_index() || same->index() == request.index())) {
    found = same;  // the same process again, or one that was started where the other had been
  } else if (request.has_index()) {
    found = Find(TaskName(request.job(), index));
  } else {
    while (Find(TaskName(request.job(), index)) != nullptr || HasSuccessor(TaskName(request.job(), index))) ++index;
  }
  if (found == nullptr) {
    if (HasSuccessor(TaskName(request.job(), index))) {
      return errors::FailedPrecondition("Task ", TaskName(request.job(), index), " has handed over to ",
                                        MovedState(view_).SuccessorOf(TaskName(request.job(), index)),
                                        ", where nodes that name it run: join without an index");
    }
    RETURN_IF_ERROR(CheckTask(request.job(), index, request.address()));
    if (view_.member_size() >= kMaxMembers) {
      return errors::ResourceExhausted("The cluster has ", kMaxMembers, " tasks, which is the limit");
    }
  } else if (found->incarnation() != request.incarnation()) {
    RETURN_IF_ERROR(CheckTask(request.job(), found->index(), request.address()));
    RETURN_IF_ERROR(CheckReplaceable(*found, request.address(), now));
  }
  const Member* const other = AtAddress(request.address());
  if (other != nullptr && other != found) {
    RETURN_IF_ERROR(CheckReplaceable(*other, request.address(), now));
    const std::string kept = found == nullptr ? "" : TaskNameOf(*found);
    Remove(TaskNameOf(*other));
    found = kept.empty() ? nullptr : Find(kept);
  }
  const bool is_new = found == nullptr;
  if (is_new) {
    found = view_.add_member();
    found->set_job(request.job());
    found->set_index(index);
  }
  const Member::State state = !request.serves()                   ? Member::JOINING
                              : found->state() == Member::JOINING ? Member::SERVING
                                                                  : found->state();
  const bool is_known = !is_new && found->incarnation() == request.incarnation();
  if (!is_known) {
    // Another process: what the earlier one held is gone.
    const auto serves = [&](const std::string& standby) { return Serves(standby, now); };
    FailOver(TaskNameOf(*found), serves, view_.epoch() + 1, &view_);
    processes_[TaskNameOf(*found)] = {};
    found->set_address(request.address());
    found->set_incarnation(request.incarnation());
    found->set_state(state);
    Changed();
  } else if (request.serves() && found->state() != state) {
    found->set_state(state);
    Changed();
  }
  processes_[TaskNameOf(*found)].answered = now;
  return *found;
}

absl::Status MemberTable::Drain(const DrainRequest& request) {
  Member* const member = Find(request.task());
  if (member == nullptr) {
    return errors::NotFound("The cluster has no task '", absl::CEscape(request.task()), "'; it has ", Members());
  }
  if (member->state() == Member::JOINING) {
    return errors::FailedPrecondition("Task ", request.task(), " does not serve yet");
  }
  const Member::State state = request.undo() ? Member::SERVING : Member::DRAINING;
  if (!request.undo() && !request.successor().empty()) {
    RETURN_IF_ERROR(SetSuccessor(request.task(), request.successor(), view_.epoch() + 1, &view_));
  } else if (member->state() == state) {
    return absl::OkStatus();
  }
  if (request.undo() && HasSuccessor(request.task())) {
    return errors::FailedPrecondition("Task ", request.task(),
                                      " has handed over, and cannot return to service: remove "
                                      "it, and start another task with --join");
  }
  member->set_state(state);
  Changed();
  return absl::OkStatus();
}

absl::Status MemberTable::Leave(const LeaveRequest& request) {
  if (request.task() == view_.registrar()) {
    return errors::FailedPrecondition("Task ", request.task(),
                                      " is this cluster's registrar, which makes its changes: it cannot leave");
  }
  const Member* const member = Find(request.task());
  if (member == nullptr) return absl::OkStatus();
  if (request.incarnation() != 0 && request.incarnation() != member->incarnation()) return absl::OkStatus();
  if (member->incarnation() != 0) {
    view_.add_removed(member->incarnation());
    if (view_.removed_size() > kMaxRemoved) view_.mutable_removed()->erase(view_.removed().begin());
  }
  Remove(request.task());
  return absl::OkStatus();
}

void MemberTable::Remove(const std::string& task) {
  auto* const members = view_.mutable_member();
  members->erase(std::remove_if(members->begin(), members->end(),
                                [&](const Member& member) { return TaskNameOf(member) == task; }),
                 members->end());
  processes_.erase(task);
  const auto serves = [this](const std::string& standby) {
    const auto process = processes_.find(standby);
    return process != processes_.end() && process->second.failures == 0;
  };
  FailOver(task, serves, view_.epoch() + 1, &view_);
  ForgetTask(task, view_.epoch() + 1, &view_);
  ForgetSuccessor(task, &view_);
  Changed();
}

absl::Status MemberTable::MoveState(const MoveStateRequest& request, absl::Time now) {
  const int64_t epoch = view_.epoch() + 1;
  const bool has_move = view_.has_move();
  switch (request.what_case()) {
    case MoveStateRequest::kBegin: {
      ASSIGN_OR_RETURN(const StateMove move, WithIncarnations(request.begin()));
      RETURN_IF_ERROR(BeginMove(move, epoch, &view_));
      move_began_ = now;
      break;
    }
    case MoveStateRequest::kFinish:
      RETURN_IF_ERROR(FinishMove(request.finish(), epoch, &view_));
      if (!has_move) return absl::OkStatus();  // it was finished before
      break;
    case MoveStateRequest::kCancel:
      if (!CancelMove(request.cancel(), &view_)) return absl::OkStatus();
      break;
    case MoveStateRequest::kRemove:
      if (!RemoveStandby(request.remove().task(), request.remove().standby(), epoch, &view_)) return absl::OkStatus();
      break;
    case MoveStateRequest::kLost:  // the registrar asks the task itself
      return absl::OkStatus();
    default:
      return errors::InvalidArgument("MoveState needs begin, finish, cancel, remove or lost");
  }
  Changed();
  return absl::OkStatus();
}

bool MemberTable::HasSuccessor(const std::string& task) const {
  return std::any_of(view_.successor().begin(), view_.successor().end(),
                     [&](const Successor& entry) { return entry.task() == task; });
}

bool MemberTable::CancelLateMove(absl::Time now) {
  if (!view_.has_move() || now < move_began_ + options_.move_limit) return false;
  CancelMove(view_.move().epoch(), &view_);
  Changed();
  return true;
}

void MemberTable::Answered(absl::string_view task, absl::Time now, uint64_t incarnation) {
  const auto found = processes_.find(task);
  if (found == processes_.end()) return;
  found->second.answered = std::max(found->second.answered, now);
  found->second.failures = 0;
  if (incarnation != 0) found->second.incarnation = incarnation;
}

void MemberTable::Suspect(absl::string_view task) {
  const auto found = processes_.find(task);
  if (found != processes_.end()) found->second.failures = std::max(found->second.failures, 1);
}

void MemberTable::NotReached(absl::string_view task) {
  const auto found = processes_.find(task);
  if (found == processes_.end()) return;
  ++found->second.failures;
  found->second.incarnation = 0;  // the process that answers next may be another
}

absl::StatusOr<StateMove> MemberTable::WithIncarnations(const StateMove& move) const {
  StateMove known = move;
  if (!move.has_standby()) return known;
  const auto set = [this](const std::string& task, auto setter) -> absl::Status {
    const auto process = processes_.find(task);
    if (process != processes_.end() && process->second.incarnation == 0) {
      return errors::Unavailable("Task ", task, " has not answered the cluster's registrar yet");
    }
    if (process != processes_.end()) setter(process->second.incarnation);
    return absl::OkStatus();
  };
  Standby* const standby = known.mutable_standby();
  RETURN_IF_ERROR(set(standby->task(), [&](uint64_t id) { standby->set_task_incarnation(id); }));
  RETURN_IF_ERROR(set(standby->standby(), [&](uint64_t id) { standby->set_standby_incarnation(id); }));
  return known;
}

bool MemberTable::IsGone(const std::string& task, uint64_t incarnation, absl::Time now) const {
  const auto process = processes_.find(task);
  if (process == processes_.end()) return true;
  const bool restarted = process->second.incarnation != 0 && process->second.incarnation != incarnation;
  return restarted || (task != view_.registrar() && now - process->second.answered >= options_.lease);
}

bool MemberTable::IsLost(const std::string& task, uint64_t incarnation, absl::Time now) const {
  if (IsGone(task, incarnation, now)) return true;
  if (task == view_.registrar()) return false;  // this process
  const Process& process = processes_.at(task);
  return process.failures >= options_.standby_attempts || now - process.answered >= options_.standby_patience;
}

bool MemberTable::Serves(const std::string& task, absl::Time now) const {
  const Member* const member = FindMember(view_, task);
  if (member == nullptr || member->state() == Member::JOINING) return false;
  if (task == view_.registrar()) return true;
  const auto process = processes_.find(task);
  return process != processes_.end() && process->second.failures == 0 &&
         now - process->second.answered < options_.standby_patience;
}

std::vector<std::string> MemberTable::FailOverLost(absl::Time now) {
  std::vector<std::string> changes;
  const google::protobuf::RepeatedPtrField<Standby> standbys = view_.standby();
  for (const Standby& known : standbys) {
    const int64_t epoch = view_.epoch() + 1;
    const bool is_there = std::any_of(view_.standby().begin(), view_.standby().end(), [&](const Standby& entry) {
      return entry.task() == known.task() && entry.standby() == known.standby();
    });
    if (!is_there) continue;
    const bool standby_is_lost = IsLost(known.standby(), known.standby_incarnation(), now);
    if (IsLost(known.task(), known.task_incarnation(), now)) {
      const auto serves = [&](const std::string& task) {
        return Serves(task, now) && !(task == known.standby() && standby_is_lost);
      };
      if (!serves(known.standby())) {
        // Both may only be cut off from this task.
        if (!IsGone(known.standby(), known.standby_incarnation(), now)) continue;
        RemoveStandby(known.task(), known.standby(), epoch, &view_);
        changes.push_back(absl::StrCat(known.task(), " and ", known.standby(), ", its standby, are lost"));
        view_.set_loss_epoch(epoch);
        Changed();
        continue;
      }
      const std::string successor = FailOver(known.task(), serves, epoch, &view_);
      changes.push_back(absl::StrCat(known.task(), " is lost: ", successor, ", its standby, has taken over"));
    } else if (standby_is_lost) {
      RemoveStandby(known.task(), known.standby(), epoch, &view_);
      changes.push_back(absl::StrCat(known.standby(), " is lost and no longer stands by for ", known.task()));
    } else {
      continue;
    }
    view_.set_loss_epoch(epoch);
    Changed();
  }
  return changes;
}

std::vector<std::string> MemberTable::RemoveLost(absl::Time now) {
  std::vector<std::string> lost;
  for (const Member& member : view_.member()) {
    const std::string task = TaskNameOf(member);
    if (member.incarnation() != 0 && SilenceOf(task, now) >= options_.lease) lost.push_back(task);
  }
  for (const std::string& task : lost) Remove(task);
  return lost;
}

void MemberTable::Reconcile(const ClusterView& known, absl::Time now) {
  if (!IsNewerView(known, view_)) return;
  view_ = known;
  move_began_ = now;
  processes_.clear();
  for (const Member& member : view_.member()) processes_[TaskNameOf(member)] = {.answered = now};
}

}  // namespace weir
