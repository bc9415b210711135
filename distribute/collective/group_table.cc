#include "distribute/collective/group_table.h"

#include <optional>
#include <random>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "core/device_name.h"
#include "distribute/collective/collective_group.h"

namespace weir {
namespace {

constexpr int32_t kMaxGroupSize = 1 << 16;
// So long before a caller's deadline it gets its answer.
constexpr absl::Duration kAnswerTime = absl::Milliseconds(500);

std::string NewFormation() {
  std::random_device entropy;
  return absl::StrCat(absl::Hex(entropy(), absl::kZeroPad8), absl::Hex(entropy(), absl::kZeroPad8));
}

std::string TaskOf(const std::string& device) {
  const auto name = DeviceName::ParseFull(device);
  return name.ok() ? name->TaskName() : device;
}

// By task and number rather than by letters: task 10 comes after task 9.
bool ComesBefore(const tensorflow::DeviceAttributes& a, const tensorflow::DeviceAttributes& b) {
  const auto left = DeviceName::ParseFull(a.name()), right = DeviceName::ParseFull(b.name());
  if (!left.ok() || !right.ok()) return a.name() < b.name();
  const auto key = [](const DeviceName& n) { return std::tuple(n.job, n.replica, n.task, n.type, n.id); };
  return key(*left) < key(*right);
}

}  // namespace

absl::Status GroupTable::Check(const Group& group, const tensorflow::CompleteGroupRequest& request) const {
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
  std::vector<tensorflow::DeviceAttributes> members;
  for (const auto& [device, attributes] : group.joined) members.push_back(attributes);
  std::sort(members.begin(), members.end(), ComesBefore);
  std::vector<const tensorflow::DeviceAttributes*> by_rank(group.size);
  int num_placed = 0;
  for (const auto& member : members) {
    const int rank = WantedRank(member);
    if (rank < 0) continue;
    if (rank >= group.size || by_rank[rank] != nullptr) {
      return errors::InvalidArgument("Rank ", rank, " of ", member.name(), " in collective group ", key, " of ",
                                     group.size, " is taken or too large");
    }
    by_rank[rank] = &member;
    ++num_placed;
  }
  if (num_placed > 0 && num_placed < group.size) {
    return errors::InvalidArgument("Only ", num_placed, " of ", group.size, " members of collective group ", key,
                                   " say which rank they have");
  }
  absl::btree_set<std::string> tasks;
  group.formed.set_group_key(key);
  group.formed.set_group_size(group.size);
  group.formed.set_device_type(group.device_type);
  group.formed.set_communicator_key(NewFormation());
  for (int rank = 0; rank < group.size; ++rank) {
    const auto& member = num_placed > 0 ? *by_rank[rank] : members[rank];
    *group.formed.add_device_attributes() = member;
    tasks.insert(TaskOf(member.name()));
  }
  group.formed.set_num_tasks(static_cast<int>(tasks.size()));
  return absl::OkStatus();
}

GroupTable::Waiters GroupTable::TakeWaiters(Group& group) {
  Waiters waiters;
  for (auto& [id, waiter] : group.waiters) waiters.push_back(std::move(waiter));
  group.waiters.clear();
  return waiters;
}

void GroupTable::Answer(Waiters waiters, const absl::Status& status,
                        const tensorflow::CompleteGroupResponse& response) {
  for (Waiter& waiter : waiters) {
    if (waiter.cancellation != nullptr) waiter.cancellation->TryDeregister(waiter.token);
    if (waiter.has_timer) options_.timers->Cancel(waiter.timer);
    if (status.ok()) *waiter.response = response;
    waiter.done(status);
  }
}

void GroupTable::Join(const CallOptions& options, const tensorflow::CompleteGroupRequest& request,
                      tensorflow::CompleteGroupResponse* response, DoneCallback done) {
  const std::string& device = request.device_attributes().name();
  if (request.group_size() <= 0 || request.group_size() > kMaxGroupSize) {
    return done(errors::InvalidArgument("group_size must be positive integer but got ", request.group_size()));
  }
  if (auto name = DeviceName::ParseFull(device); !name.ok()) return done(name.status());
  Waiters ended, formed;
  absl::Status ended_status, status;
  tensorflow::CompleteGroupResponse answer;
  int64_t id = 0;
  std::optional<absl::Status> cancelled;  // before it could be registered
  {
    MutexLock lock(mu_);
    Group& group = groups_[request.group_key()];
    if (const auto known = group.joined.find(device);
        known != group.joined.end() && known->second.incarnation() != request.device_attributes().incarnation()) {
      ended = TakeWaiters(group);
      ended_status = errors::Aborted("Task ", TaskOf(device), " was restarted while collective group ",
                                     request.group_key(), " was formed");
      group = Group();
    }
    if (group.size == 0) {
      group.size = request.group_size();
      group.device_type = request.device_type();
    }
    status = Check(group, request);
    if (!status.ok()) {
      // Those that wait with a member that does not fit wait in vain.
      if (!group.is_formed()) {
        ended = TakeWaiters(group);
        ended_status = status;
        groups_.erase(request.group_key());
      }
    } else if (group.is_formed()) {
      answer = group.formed;
    } else {
      group.joined[device] = request.device_attributes();
      id = ++next_waiter_;
      Waiter& waiter = group.waiters[id];
      waiter.device = device;
      waiter.response = response;
      waiter.done = std::move(done);
      if (group.joined.size() == group.size) {
        status = Form(request.group_key(), group);
        answer = group.formed;
        formed = TakeWaiters(group);
        if (!status.ok()) groups_.erase(request.group_key());
      } else {
        // Registered under the lock: an answer that comes at once must know what to undo.
        waiter.cancellation = options.cancellation;
        if (options.cancellation != nullptr) {
          waiter.token = options.cancellation->Register(
              [this, key = request.group_key(), id, c = options.cancellation] { GiveUp(key, id, false, c->status()); });
          if (waiter.token == CancellationManager::kInvalidToken) cancelled = options.cancellation->status();
        }
        if (options_.timers != nullptr && options.deadline != absl::InfiniteFuture()) {
          waiter.has_timer = true;
          waiter.timer = options_.timers->Schedule(
              options.deadline - kAnswerTime,
              [this, key = request.group_key(), id] { GiveUp(key, id, true, absl::OkStatus()); });
        }
      }
    }
  }
  Answer(std::move(ended), ended_status, {});
  if (id == 0) {
    if (status.ok()) *response = answer;
    return done(status);
  }
  // Whoever is answered may let go of `request` and of what `options` point to.
  if (!formed.empty()) return Answer(std::move(formed), status, answer);
  if (cancelled) GiveUp(request.group_key(), id, false, *cancelled);
}

void GroupTable::GiveUp(int32_t key, int64_t waiter, bool is_late, const absl::Status& status) {
  std::optional<Waiter> gone;
  absl::Status reason = status;
  {
    MutexLock lock(mu_);
    const auto group = groups_.find(key);
    if (group == groups_.end()) return;
    const auto it = group->second.waiters.find(waiter);
    if (it == group->second.waiters.end()) return;
    if (is_late) {
      reason = errors::DeadlineExceeded("Collective has timed out waiting for other workers. ", Missing(group->second));
    }
    gone = std::move(it->second);
    group->second.waiters.erase(it);
    bool still_waits = false;
    for (const auto& [id, other] : group->second.waiters) still_waits = still_waits || other.device == gone->device;
    if (!still_waits) group->second.joined.erase(gone->device);
    if (group->second.joined.empty()) groups_.erase(group);
  }
  if (gone->cancellation != nullptr) gone->cancellation->TryDeregister(gone->token);
  if (gone->has_timer) options_.timers->Cancel(gone->timer);
  gone->done(reason);
}

std::string GroupTable::Missing(const Group& group) const {
  std::vector<std::string> joined, missing;
  absl::btree_set<std::string> tasks;
  for (const auto& [device, attributes] : group.joined) {
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

int GroupTable::RankOf(int32_t group_key, const std::string& device) const {
  MutexLock lock(mu_);
  const auto group = groups_.find(group_key);
  if (group == groups_.end()) return -1;
  const auto& members = group->second.formed.device_attributes();
  for (int rank = 0; rank < members.size(); ++rank) {
    if (members[rank].name() == device) return rank;
  }
  return -1;
}

int GroupTable::SizeOf(int32_t group_key) const {
  MutexLock lock(mu_);
  const auto group = groups_.find(group_key);
  return group == groups_.end() ? 0 : group->second.formed.group_size();
}

}  // namespace weir
