#include "distribute/collective/group_table.h"

#include <iterator>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/btree_set.h"
#include "absl/strings/str_join.h"
#include "core/device/device_name.h"
#include "core/fingerprint.h"
#include "core/random_bits.h"
#include "distribute/collective/collective_group.h"

namespace weir {
namespace {

constexpr int32_t kMaxGroupSize = 1 << 16;
// Members of all groups together, when a new group starts.
constexpr size_t kMaxMembers = 1 << 17;
constexpr size_t kMaxRequestBytes = 16 << 10;

std::string NewFormation() { return absl::StrCat(absl::Hex(RandomBits(), absl::kZeroPad16)); }

std::string TaskOf(const std::string& device) {
  const auto name = DeviceName::ParseFull(device);
  return name.ok() ? name->TaskName() : device;
}

// By task and number, not alphabetically: task 10 comes after task 9.
bool ComesBefore(const tensorflow::DeviceAttributes& a, const tensorflow::DeviceAttributes& b) {
  const auto left = DeviceName::ParseFull(a.name()), right = DeviceName::ParseFull(b.name());
  if (!left.ok() || !right.ok()) return a.name() < b.name();
  const auto key = [](const DeviceName& n) { return std::tuple(n.job, n.replica, n.task, n.type, n.id); };
  return key(*left) < key(*right);
}

}  // namespace

absl::Status GroupTable::CheckRequest(const JoinGroupRequest& joining) const {
  const tensorflow::CompleteGroupRequest& request = joining.group();
  const std::string& device = request.device_attributes().name();
  if (request.group_size() <= 0 || request.group_size() > kMaxGroupSize) {
    return errors::InvalidArgument("group_size must be positive integer but got ", request.group_size());
  }
  ASSIGN_OR_RETURN(const DeviceName name, DeviceName::ParseFull(device));
  if (options_.tasks && !absl::c_linear_search(options_.tasks(), name.TaskName())) {
    return errors::InvalidArgument("Device ", device, " wants to join collective group ", request.group_key(),
                                   " but its task is not of this cluster");
  }
  if (joining.ByteSizeLong() > kMaxRequestBytes) {
    return errors::InvalidArgument("Device ", device, " joins a collective group with ", joining.ByteSizeLong(),
                                   " bytes of attributes; at most ", kMaxRequestBytes);
  }
  return absl::OkStatus();
}

// An unknown group may have been dropped to make room; its members can still use it.
absl::Status GroupTable::CheckFormation(const JoinGroupRequest& request) {
  const int32_t key = request.group().group_key();
  MutexLock lock(mu_);
  const auto group = groups_.find(key);
  if (group == groups_.end()) return absl::OkStatus();
  const std::string& formation = group->second.formed.group().communicator_key();
  if (group->second.is_formed() && Fingerprint64(formation) == request.checked_formation()) {
    group->second.last_call = ++num_calls_;
    return absl::OkStatus();
  }
  return errors::Aborted("Collective group ", key, " is formed anew");
}

GroupTable::GroupAnswer GroupTable::ResetIfRestarted(const tensorflow::CompleteGroupRequest& request,
                                                     std::string* void_formation) {
  const std::string& device = request.device_attributes().name();
  GroupAnswer answer{.status = errors::Aborted("Task ", TaskOf(device), " was restarted: collective group ",
                                               request.group_key(), " is formed anew")};
  const auto group = groups_.find(request.group_key());
  if (group == groups_.end()) return answer;
  const auto known = group->second.joined.find(device);
  if (known == group->second.joined.end() ||
      known->second.device.incarnation() == request.device_attributes().incarnation()) {
    return answer;
  }
  if (group->second.is_formed()) {
    *void_formation = group->second.formed.group().communicator_key();
    groups_.erase(group);
    return answer;
  }
  // Other waiters keep waiting: the member has rejoined.
  absl::erase_if(group->second.waiters, [&](auto& entry) {
    const bool is_of_old_life = entry.second.call.device() == device;
    if (is_of_old_life) answer.waiters.push_back(std::move(entry.second));
    return is_of_old_life;
  });
  return answer;
}

absl::Status GroupTable::ResetIfVoid(const JoinGroupRequest& joining, std::string* void_formation) {
  const auto group = groups_.find(joining.group().group_key());
  if (joining.void_formation() == 0 || group == groups_.end() || !group->second.is_formed()) return absl::OkStatus();
  const std::string& device = joining.group().device_attributes().name();
  const std::string& formation = group->second.formed.group().communicator_key();
  if (!group->second.joined.contains(device) || Fingerprint64(formation) != joining.void_formation()) {
    return absl::OkStatus();
  }
  *void_formation = formation;
  groups_.erase(group);
  return errors::Aborted(device, " has left its steps: collective group ", joining.group().group_key(),
                         " is formed anew");
}

absl::StatusOr<GroupTable::Group*> GroupTable::FindOrBegin(const tensorflow::CompleteGroupRequest& request) {
  if (const auto known = groups_.find(request.group_key()); known != groups_.end()) return &known->second;
  const auto is_full = [this]() REQUIRES(mu_) {
    size_t num_members = 0;
    for (const auto& [key, group] : groups_) num_members += group.joined.size();
    return groups_.size() >= options_.max_groups || num_members >= kMaxMembers;
  };
  while (is_full()) {
    auto oldest = groups_.end();
    for (auto it = groups_.begin(); it != groups_.end(); ++it) {
      if (!it->second.is_formed()) continue;
      if (oldest == groups_.end() || it->second.last_call < oldest->second.last_call) oldest = it;
    }
    if (oldest == groups_.end()) {
      return errors::ResourceExhausted(
          groups_.size(), " collective groups wait for members: there is no room for group ", request.group_key());
    }
    groups_.erase(oldest);
  }
  Group& group = groups_[request.group_key()];
  group.size = request.group_size();
  group.device_type = request.device_type();
  return &group;
}

absl::Status GroupTable::CheckFits(const Group& group, const tensorflow::CompleteGroupRequest& request) const {
  const std::string& device = request.device_attributes().name();
  if (group.device_type != request.device_type()) {
    return errors::Internal("Collective Op is assigned to device ", device, " with type ", request.device_type(),
                            " and group_key ", request.group_key(), " but that group has type ", group.device_type);
  }
  if (group.size != request.group_size()) {
    return errors::Internal("Collective Op at ", device, " has group_size ", request.group_size(), " and group_key ",
                            request.group_key(), " but that group has size ", group.size);
  }
  if (group.is_formed() && !group.joined.contains(device)) {
    return errors::Internal("Collective Op is assigned to device ", device, " and group_key ", request.group_key(),
                            " but that group doesn't contain that device.");
  }
  return absl::OkStatus();
}

absl::Status GroupTable::Form(int32_t key, Group& group) {
  std::vector<const Joined*> members;
  for (const auto& [device, joined] : group.joined) members.push_back(&joined);
  absl::c_sort(members, [](const Joined* a, const Joined* b) { return ComesBefore(a->device, b->device); });
  std::vector<const Joined*> by_rank(group.size);
  int num_placed = 0;
  for (const Joined* const joined : members) {
    if (!joined->member.has_rank()) continue;
    const int rank = joined->member.rank();
    if (rank < 0 || rank >= group.size || by_rank[rank] != nullptr) {
      return errors::InvalidArgument("Rank ", rank, " of ", joined->device.name(), " in collective group ", key, " of ",
                                     group.size, " is taken or too large");
    }
    by_rank[rank] = joined;
    ++num_placed;
  }
  if (num_placed > 0 && num_placed < group.size) {
    return errors::InvalidArgument("Only ", num_placed, " of ", group.size, " members of collective group ", key,
                                   " say which rank they have");
  }
  absl::btree_set<std::string> tasks;
  tensorflow::CompleteGroupResponse& formed = *group.formed.mutable_group();
  formed.set_group_key(key);
  formed.set_group_size(group.size);
  formed.set_device_type(group.device_type);
  formed.set_communicator_key(NewFormation());
  for (const Joined* const joined : num_placed > 0 ? by_rank : members) {
    *formed.add_device_attributes() = joined->device;
    *group.formed.add_member() = joined->member;
    tasks.insert(TaskOf(joined->device.name()));
  }
  formed.set_num_tasks(static_cast<int>(tasks.size()));
  return absl::OkStatus();
}

std::vector<GroupTable::GroupWaiter> GroupTable::TakeWaiters(Group& group) {
  std::vector<GroupWaiter> waiters;
  for (auto& [id, waiter] : group.waiters) waiters.push_back(std::move(waiter));
  group.waiters.clear();
  return waiters;
}

std::optional<GroupTable::GroupAnswer> GroupTable::Admit(const CallOptions& options, const JoinGroupRequest& joining,
                                                         GroupWaiter waiter) {
  const tensorflow::CompleteGroupRequest& request = joining.group();
  const int32_t key = request.group_key();
  const auto alone = [&waiter](absl::Status status) {
    GroupAnswer answer{.status = std::move(status)};
    answer.waiters.push_back(std::move(waiter));
    return answer;
  };
  const absl::StatusOr<Group*> found = FindOrBegin(request);
  if (!found.ok()) return alone(found.status());
  Group& group = **found;
  group.last_call = waiter.id;
  const absl::Status fits = CheckFits(group, request);
  if (group.is_formed()) {
    GroupAnswer answer = alone(fits);
    answer.response = group.formed;
    return answer;
  }
  if (fits.ok()) {
    const auto give_up = [this, key, id = waiter.id](const std::optional<absl::Status>& cancelled) {
      GiveUp(key, id, cancelled);
    };
    if (absl::Status cancelled = waiter.call.Watch(options, options_.timers, give_up); !cancelled.ok()) {
      if (group.joined.empty()) groups_.erase(key);
      return alone(std::move(cancelled));
    }
    group.joined[waiter.call.device()] = {request.device_attributes(), joining.member()};
    if (group.joined.size() < group.size) {
      group.waiters.emplace(waiter.id, std::move(waiter));
      return std::nullopt;
    }
  }
  // Waiting members of a group with a misfit would never get an answer.
  GroupAnswer answer = alone(fits.ok() ? Form(key, group) : fits);
  absl::c_move(TakeWaiters(group), std::back_inserter(answer.waiters));
  answer.response = group.formed;
  if (!answer.status.ok()) groups_.erase(key);
  return answer;
}

void GroupTable::Join(const CallOptions& options, const JoinGroupRequest& request, JoinGroupResponse* response,
                      DoneCallback done) {
  if (absl::Status status = CheckRequest(request); !status.ok()) return done(std::move(status));
  if (request.checked_formation() != 0) return done(CheckFormation(request));
  std::string void_formation;
  GroupAnswer reset;
  std::optional<GroupAnswer> answer;
  {
    MutexLock lock(mu_);
    reset = ResetIfRestarted(request.group(), &void_formation);
    if (absl::Status is_void = ResetIfVoid(request, &void_formation); !is_void.ok()) reset.status = is_void;
    answer = Admit(options, request,
                   {++num_calls_, WaitingCall(request.group().device_attributes().name(), std::move(done)), response});
  }
  // Another call may have answered this one by now, so `options` and `request` may be destroyed.
  reset.Give();
  if (!void_formation.empty() && options_.on_reset) options_.on_reset(void_formation, reset.status);
  if (answer) answer->Give();
}

void GroupTable::GiveUp(int32_t key, int64_t waiter, const std::optional<absl::Status>& cancelled) {
  std::optional<GroupWaiter> gone;
  absl::Status reason;
  {
    MutexLock lock(mu_);
    const auto group = groups_.find(key);
    if (group == groups_.end()) return;
    const auto it = group->second.waiters.find(waiter);
    if (it == group->second.waiters.end()) return;
    reason = cancelled ? *cancelled
                       : errors::DeadlineExceeded("Collective has timed out waiting for other workers. Of group ", key,
                                                  ", ", Missing(group->second));
    gone = std::move(it->second);
    group->second.waiters.erase(it);
    const bool still_waits = absl::c_any_of(
        group->second.waiters, [&](const auto& other) { return other.second.call.device() == gone->call.device(); });
    if (!still_waits) group->second.joined.erase(gone->call.device());
    if (group->second.joined.empty()) groups_.erase(group);
  }
  gone->call.End(reason);
}

std::string GroupTable::Missing(const Group& group) const {
  std::vector<std::string> joined, missing;
  absl::btree_set<std::string> tasks;
  for (const auto& [device, member] : group.joined) {
    joined.push_back(device);
    tasks.insert(TaskOf(device));
  }
  if (options_.tasks) {
    for (const std::string& task : options_.tasks()) {
      if (!tasks.contains(task)) missing.push_back(task);
    }
  }
  std::string text =
      absl::StrCat(group.joined.size(), " of ", group.size, " members have joined: ", absl::StrJoin(joined, ", "));
  if (!missing.empty()) absl::StrAppend(&text, "; none has from ", absl::StrJoin(missing, ", "));
  return text;
}

std::optional<GroupTable::Membership> GroupTable::Find(int32_t group_key, const std::string& device) const {
  MutexLock lock(mu_);
  const auto group = groups_.find(group_key);
  if (group == groups_.end()) return std::nullopt;
  const tensorflow::CompleteGroupResponse& formed = group->second.formed.group();
  for (int rank = 0; rank < formed.device_attributes_size(); ++rank) {
    if (formed.device_attributes(rank).name() != device) continue;
    return Membership{rank, formed.group_size(), formed.communicator_key()};
  }
  return std::nullopt;
}

std::string GroupTable::FormationOf(int32_t group_key) const {
  MutexLock lock(mu_);
  const auto group = groups_.find(group_key);
  return group == groups_.end() ? "" : group->second.formed.group().communicator_key();
}

}  // namespace weir
