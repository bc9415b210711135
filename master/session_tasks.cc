#include "master/session_tasks.h"

#include <algorithm>
#include <tuple>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "core/clock.h"
#include "core/logging.h"
#include "core/threads/blocking_call.h"
#include "core/threads/cancellable_sleep.h"
#include "core/wire/wire_options.h"
#include "graph/passes/step_commit.h"

namespace weir {
namespace {

constexpr absl::Duration kRetryPause = absl::Milliseconds(100);
// Steps wait for the answers when a task has joined.
constexpr absl::Duration kJoinTimeout = absl::Seconds(1);

// Calls start(i, done) for each i below `count`, so that no task waits for another, and returns the statuses.
template <typename Start>
std::vector<absl::Status> AwaitAll(size_t count, Start start) {
  std::vector<Awaited<absl::Status>> ended(count);
  for (size_t i = 0; i < count; ++i) {
    start(i, [awaited = &ended[i]](absl::Status status) { awaited->Set(std::move(status)); });
  }
  std::vector<absl::Status> statuses;
  for (auto& awaited : ended) statuses.push_back(awaited.Take());
  return statuses;
}

// Tasks report the names that they were started with.
absl::Status RenameDevices(const std::string& task, std::vector<tensorflow::DeviceAttributes>* devices) {
  ASSIGN_OR_RETURN(const DeviceName renamed, DeviceName::Parse(task));
  for (tensorflow::DeviceAttributes& device : *devices) {
    ASSIGN_OR_RETURN(const DeviceName name, DeviceName::ParseFull(device.name()));
    device.set_name(name.OverriddenBy(renamed).ToString());
  }
  return absl::OkStatus();
}

}  // namespace

bool SessionTasks::PassesFilter(absl::string_view task) const {
  if (options_.device_filters.empty() || task == options_.local_task) return true;
  auto name = DeviceName::Parse(task);
  if (!name.ok()) return false;
  return std::any_of(options_.device_filters.begin(), options_.device_filters.end(), [&](const std::string& filter) {
    auto spec = DeviceName::Parse(filter);
    return spec.ok() && name->IsCompatibleWith(*spec);
  });
}

std::vector<std::string> SessionTasks::FilteredTasks() const {
  std::vector<std::string> passed;
  for (const std::string& task : options_.workers->Tasks()) {
    if (PassesFilter(task)) passed.push_back(task);
  }
  return passed;
}

std::vector<absl::StatusOr<SessionTasks::Task>> SessionTasks::Ask(const std::vector<std::string>& tasks,
                                                                  absl::Duration timeout) const {
  std::vector<absl::StatusOr<Task>> found(tasks.size(), Task());
  std::vector<tensorflow::GetStatusResponse> responses(tasks.size());
  const tensorflow::GetStatusRequest request;
  const CallOptions call{.deadline = MonotonicNow() + timeout};
  const std::vector<absl::Status> statuses = AwaitAll(tasks.size(), [&](size_t i, auto done) {
    absl::StatusOr<std::shared_ptr<WorkerInterface>> worker = options_.workers->Get(tasks[i]);
    if (!worker.ok()) return done(worker.status());
    found[i]->worker = *std::move(worker);
    found[i]->worker->GetStatusAsync(call, &request, &responses[i], done);
  });
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (!statuses[i].ok()) {
      found[i] = statuses[i];
    } else if (responses[i].device_attributes().empty()) {
      found[i] = errors::FailedPrecondition("Task ", tasks[i], " reports no devices");
    } else {
      found[i]->devices = {responses[i].device_attributes().begin(), responses[i].device_attributes().end()};
      found[i]->incarnation = responses[i].device_attributes(0).incarnation();
      if (options_.cluster) {
        if (absl::Status renamed = RenameDevices(tasks[i], &found[i]->devices); !renamed.ok()) found[i] = renamed;
      }
    }
  }
  return found;
}

std::vector<absl::Status> SessionTasks::OpenWorkerSessions(const std::vector<std::string>& tasks,
                                                           std::vector<absl::StatusOr<Task>>* found) const {
  tensorflow::CreateWorkerSessionRequest request;
  request.set_session_handle(options_.session_handle);
  request.set_isolate_session_state(options_.isolate_session_state || options_.cluster.has_value());
  request.set_master_task(options_.local_task);
  // Masters of other clusters may have this one's name.
  if (options_.cluster) absl::StrAppend(request.mutable_master_task(), "@", options_.cluster->local_address);
  // Lets a worker detect sessions from before a restart of this master.
  request.set_master_incarnation(static_cast<int64_t>(master_incarnation_));
  std::vector<tensorflow::CreateWorkerSessionRequest> requests(tasks.size(), request);
  for (size_t i = 0; options_.cluster && i < tasks.size(); ++i) {
    if (!(*found)[i].ok()) continue;
    absl::Status described = options_.cluster->Describe(tasks[i], requests[i].mutable_server_def());
    if (!described.ok()) (*found)[i] = std::move(described);
  }
  const CallOptions call{.deadline = MonotonicNow() + options_.call_timeout};
  std::vector<tensorflow::CreateWorkerSessionResponse> responses(tasks.size());
  std::vector<absl::Status> statuses = AwaitAll(tasks.size(), [&](size_t i, auto done) {
    Task* const task = (*found)[i].ok() ? &*(*found)[i] : nullptr;
    if (task == nullptr) return done((*found)[i].status());
    task->worker->CreateWorkerSessionAsync(call, &requests[i], &responses[i], done);
  });
  // A task that answers UNIMPLEMENTED has no capabilities.
  GetCapabilitiesRequest capabilities;
  if (options_.membership != nullptr) *capabilities.mutable_view() = options_.membership->Get()->view;
  const std::vector<absl::Status> asked = AwaitAll(tasks.size(), [&](size_t i, auto done) {
    if (!statuses[i].ok()) return done(absl::OkStatus());
    Task& task = *(*found)[i];
    task.worker->GetCapabilitiesAsync(call, &capabilities, &task.capabilities, done);
  });
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (!(*found)[i].ok()) continue;
    if (statuses[i].ok() && !absl::IsUnimplemented(asked[i])) statuses[i] = asked[i];
    if (statuses[i].ok() && options_.membership != nullptr) Learn((*found)[i]->capabilities);
    statuses[i] = Annotate(std::move(statuses[i]), absl::StrCat("Opening a session on task ", tasks[i]));
  }
  return statuses;
}

absl::Status SessionTasks::Connect(const CallOptions& call) {
  if (auto self = Ask({options_.local_task}, options_.call_timeout); self[0].ok()) {
    master_incarnation_ = self[0]->incarnation;
  }
  std::vector<std::string> missing = FilteredTasks();
  absl::Status last;
  while (true) {
    std::vector<std::string> still_missing;
    std::vector<absl::StatusOr<Task>> found = Ask(missing, options_.call_timeout);
    const std::vector<absl::Status> opened = OpenWorkerSessions(missing, &found);
    absl::Status error;
    for (size_t i = 0; i < missing.size(); ++i) {
      if (opened[i].ok()) {
        MutexLock lock(mu_);
        tasks_[missing[i]] = *std::move(found[i]);
      } else if (absl::IsUnavailable(opened[i]) || absl::IsDeadlineExceeded(opened[i])) {
        still_missing.push_back(missing[i]);
        last = opened[i];
      } else {
        error.Update(opened[i]);
      }
    }
    RETURN_IF_ERROR(error);
    missing = std::move(still_missing);
    if (options_.membership != nullptr) KeepMembers(&missing);
    if (missing.empty()) return absl::OkStatus();
    const absl::Time retry = MonotonicNow() + kRetryPause;
    if (retry > call.deadline) {
      return errors::DeadlineExceeded(
          "CreateSession still waits for ", absl::StrJoin(missing, ", "),
          ". Start them, or leave them out by device_filters. Last error: ", last.message());
    }
    RETURN_IF_ERROR(SleepUntil(retry, call.cancellation));
  }
}

void SessionTasks::Learn(const GetCapabilitiesResponse& answer) const {
  if (!answer.has_view()) return;
  const absl::Status adopted = options_.membership->Adopt(answer.view()).status();
  if (!adopted.ok()) WEIR_LOG(WARNING) << "a task knows a bad view of the cluster: " << adopted.message();
}

void SessionTasks::KeepMembers(std::vector<std::string>* tasks) const {
  const std::vector<std::string> members = options_.workers->Tasks();
  const absl::flat_hash_set<std::string> names(members.begin(), members.end());
  const auto has_left = [&](const std::string& task) { return !names.contains(task) || IsOutOfUse(task); };
  tasks->erase(std::remove_if(tasks->begin(), tasks->end(), has_left), tasks->end());
}

bool SessionTasks::IsOutOfUse(const std::string& task) const {
  if (options_.membership == nullptr || uses_replaced_ || cluster_version() == 0) return false;
  const auto known = options_.membership->Get();
  const auto& standbys = known->view.standby();
  return !known->state.SuccessorOf(task).empty() &&
         std::none_of(standbys.begin(), standbys.end(), [&](const Standby& entry) { return entry.standby() == task; });
}

bool SessionTasks::ForgetTasksThatLeft() {
  const std::vector<std::string> known = options_.workers->Tasks();
  const absl::flat_hash_set<std::string> names(known.begin(), known.end());
  bool any = false;
  MutexLock lock(mu_);
  for (auto it = tasks_.begin(); it != tasks_.end();) {
    if (names.contains(it->first) || it->first == options_.local_task) {
      ++it;
      continue;
    }
    Settle(it->first, nullptr);  // its state is no part of the cluster any more
    it = tasks_.erase(it);
    any = true;
  }
  return any;
}

void SessionTasks::ShareView(const std::vector<std::string>& tasks) const {
  GetCapabilitiesRequest request;
  *request.mutable_view() = options_.membership->Get()->view;
  std::vector<GetCapabilitiesResponse> responses(tasks.size());
  const CallOptions call{.deadline = MonotonicNow() + std::min(options_.call_timeout, kJoinTimeout)};
  AwaitAll(tasks.size(), [&](size_t i, auto done) {
    absl::StatusOr<std::shared_ptr<WorkerInterface>> worker = options_.workers->Get(tasks[i]);
    worker.ok() ? (*worker)->GetCapabilitiesAsync(call, &request, &responses[i], done) : done(worker.status());
  });
}

absl::Status SessionTasks::FollowCluster(Changes* changes) {
  if (options_.membership == nullptr) return absl::OkStatus();
  changes->left = ForgetTasksThatLeft();
  const std::vector<std::string> all = FilteredTasks();
  std::vector<std::string> names;
  for (const std::string& name : all) {
    const absl::StatusOr<std::shared_ptr<WorkerInterface>> worker = options_.workers->Get(name);
    if (!worker.ok() || IsOutOfUse(name)) continue;  // it has left since
    MutexLock lock(mu_);
    const auto known = tasks_.find(name);
    if (known == tasks_.end() || known->second.worker != *worker) names.push_back(name);
  }
  if (names.empty()) return absl::OkStatus();
  std::vector<absl::StatusOr<Task>> found = Ask(names, std::min(options_.call_timeout, kJoinTimeout));
  const std::vector<absl::Status> opened = OpenWorkerSessions(names, &found);
  std::vector<std::string> answering = all;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!opened[i].ok()) {
      answering.erase(std::find(answering.begin(), answering.end(), names[i]));
      WEIR_LOG(WARNING).With("session", options_.session_handle).With("task", names[i])
          << "a task that joined the cluster does not answer yet, and is asked again later: " << opened[i].message();
      changes->missing = true;
      continue;
    }
    MutexLock lock(mu_);
    const bool is_new = !tasks_.contains(names[i]);
    tasks_[names[i]] = *std::move(found[i]);
    Settle(names[i], nullptr);
    (is_new ? changes->joined : changes->replaced) = true;
  }
  ShareView(answering);
  return absl::OkStatus();
}

absl::Status SessionTasks::Refresh(bool* changed, bool reopen, MasterMetrics* metrics) {
  std::vector<std::string> names;
  std::vector<uint64_t> incarnations;
  {
    MutexLock lock(mu_);
    for (const auto& [name, task] : tasks_) {
      if (IsOutOfUse(name)) continue;
      names.push_back(name);
      incarnations.push_back(task.incarnation);
    }
  }
  std::vector<std::string> restarted;
  std::vector<bool> is_new;  // by `restarted`: another incarnation
  std::vector<absl::StatusOr<Task>> found;
  std::vector<absl::StatusOr<Task>> answers = Ask(names, options_.call_timeout);
  for (size_t i = 0; i < names.size(); ++i) {
    if (!answers[i].ok()) continue;
    const bool is_same = answers[i]->incarnation == incarnations[i];
    if (is_same && !reopen) continue;
    restarted.push_back(names[i]);
    is_new.push_back(!is_same);
    found.push_back(std::move(answers[i]));
  }
  const std::vector<absl::Status> opened = OpenWorkerSessions(restarted, &found);
  absl::Status error;
  for (size_t i = 0; i < restarted.size(); ++i) {
    error.Update(opened[i]);
    if (!opened[i].ok()) continue;
    if (metrics != nullptr) metrics->worker_sessions_reopened.Add();
    MutexLock lock(mu_);
    tasks_[restarted[i]] = *std::move(found[i]);
    if (is_new[i]) Settle(restarted[i], nullptr);
    *changed = true;
  }
  return error;
}

void SessionTasks::AddUnsettledStep(int64_t step_id, const std::vector<std::string>& tasks) {
  MutexLock lock(mu_);
  for (const std::string& task : tasks) unsettled_[task].push_back(step_id);
  has_unsettled_ = true;
}

absl::Status SessionTasks::EndUnsettledSteps(const std::vector<std::string>& tasks) {
  for (bool more = true; more;) {
    more = false;
    RETURN_IF_ERROR(Fence(tasks, &more));
  }
  return absl::OkStatus();
}

absl::Status SessionTasks::Fence(const std::vector<std::string>& tasks, bool* more) {
  std::vector<std::string> names;
  std::vector<std::shared_ptr<WorkerInterface>> workers;
  std::vector<FenceStepsRequest> requests;
  {
    MutexLock lock(mu_);
    for (const std::string& name : tasks) {
      const auto unsettled = unsettled_.find(name);
      const auto task = tasks_.find(name);
      if (unsettled == unsettled_.end() || task == tasks_.end()) continue;
      names.push_back(name);
      workers.push_back(task->second.worker);
      FenceStepsRequest& request = requests.emplace_back();
      request.set_session_handle(options_.session_handle);
      for (const int64_t step_id : unsettled->second) {
        if (request.step_id_size() < kMaxFencedSteps) request.add_step_id(step_id);
      }
    }
  }
  std::vector<FenceStepsResponse> responses(names.size());
  const CallOptions call{.deadline = MonotonicNow() + options_.call_timeout};
  const std::vector<absl::Status> fenced = AwaitAll(
      names.size(), [&](size_t i, auto done) { workers[i]->FenceStepsAsync(call, &requests[i], &responses[i], done); });
  absl::Status error;
  for (size_t i = 0; i < names.size(); ++i) {
    // A task without the session has ended its steps.
    if (!fenced[i].ok() && !absl::IsAborted(fenced[i])) {
      error.Update(WithOrigin(errors::Unavailable("Task ", names[i], " has not confirmed that an earlier step, which ",
                                                  "failed, has ended: ", fenced[i].message()),
                              {.task = names[i]}));
      continue;
    }
    MutexLock lock(mu_);
    Settle(names[i], &requests[i]);
    *more = *more || requests[i].step_id_size() == kMaxFencedSteps;
  }
  return error;
}

void SessionTasks::Settle(const std::string& task, const FenceStepsRequest* fenced) {
  const auto unsettled = unsettled_.find(task);
  if (unsettled == unsettled_.end()) return;
  std::vector<int64_t>& left = unsettled->second;
  absl::flat_hash_set<int64_t> ended;
  if (fenced != nullptr) ended.insert(fenced->step_id().begin(), fenced->step_id().end());
  const auto has_ended = [&](int64_t id) { return fenced == nullptr || ended.contains(id); };
  left.erase(std::remove_if(left.begin(), left.end(), has_ended), left.end());
  if (left.empty()) unsettled_.erase(unsettled);
  has_unsettled_ = !unsettled_.empty();
}

absl::StatusOr<std::vector<tensorflow::DeviceAttributes>> SessionTasks::Probe(const CallOptions& call) const {
  std::vector<tensorflow::DeviceAttributes> devices;
  for (absl::StatusOr<Task>& found : Ask(FilteredTasks(), options_.call_timeout)) {
    RETURN_IF_ERROR(found.status());
    devices.insert(devices.end(), found->devices.begin(), found->devices.end());
  }
  return devices;
}

absl::Status SessionTasks::CleanupAll(const CallOptions& call, const std::vector<std::string>& containers) const {
  tensorflow::CleanupAllRequest request;
  for (const std::string& container : containers) request.add_container(container);
  const std::vector<std::string> tasks = FilteredTasks();
  std::vector<tensorflow::CleanupAllResponse> responses(tasks.size());
  const std::vector<absl::Status> cleared = AwaitAll(tasks.size(), [&](size_t i, auto done) {
    absl::StatusOr<std::shared_ptr<WorkerInterface>> worker = options_.workers->Get(tasks[i]);
    worker.ok() ? (*worker)->CleanupAllAsync(call, &request, &responses[i], done) : done(worker.status());
  });
  absl::Status error;
  for (size_t i = 0; i < tasks.size(); ++i) {
    error.Update(Annotate(cleared[i], absl::StrCat("Clearing containers on ", tasks[i])));
  }
  return error;
}

void SessionTasks::Disconnect() {
  absl::btree_map<std::string, Task> tasks;
  {
    MutexLock lock(mu_);
    tasks.swap(tasks_);
  }
  tensorflow::DeleteWorkerSessionRequest request;
  request.set_session_handle(options_.session_handle);
  const CallOptions call{.deadline = MonotonicNow() + options_.call_timeout};
  std::vector<std::shared_ptr<WorkerInterface>> workers;
  for (auto& [name, task] : tasks) workers.push_back(task.worker);
  std::vector<tensorflow::DeleteWorkerSessionResponse> responses(workers.size());
  // A task that is gone has no session to close: errors are ignored.
  AwaitAll(workers.size(),
           [&](size_t i, auto done) { workers[i]->DeleteWorkerSessionAsync(call, &request, &responses[i], done); });
}

absl::StatusOr<SessionTasks::Task> SessionTasks::Find(absl::string_view task) const {
  MutexLock lock(mu_);
  auto it = tasks_.find(task);
  if (it != tasks_.end()) return it->second;
  if (cluster_version() == 0) return errors::NotFound("Task ", task, " is not one of this session's");
  return errors::NotFound("Task ", task, " has left the cluster, or has not joined it yet; its tasks are ",
                          absl::StrJoin(options_.workers->Tasks(), ", "));
}

uint64_t SessionTasks::DeviceIncarnation(absl::string_view device) const {
  MutexLock lock(mu_);
  for (const auto& [name, task] : tasks_) {
    for (const auto& attributes : task.devices) {
      if (attributes.name() == device) return attributes.incarnation();
    }
  }
  return 0;
}

std::vector<tensorflow::DeviceAttributes> SessionTasks::Devices() const {
  MutexLock lock(mu_);
  std::vector<tensorflow::DeviceAttributes> devices;
  for (const auto& [name, task] : tasks_) devices.insert(devices.end(), task.devices.begin(), task.devices.end());
  return devices;
}

absl::flat_hash_set<std::string> SessionTasks::TasksWithCommit() const {
  MutexLock lock(mu_);
  absl::flat_hash_set<std::string> able;
  for (const auto& [name, task] : tasks_) {
    if (task.capabilities.commit_version() == kCommitVersion) able.insert(name);
  }
  return able;
}

absl::flat_hash_set<std::string> SessionTasks::TasksWithWireOps() const {
  MutexLock lock(mu_);
  absl::flat_hash_set<std::string> with_ops;
  for (const auto& [name, task] : tasks_) {
    if (task.capabilities.wire_version() == kWireVersion) with_ops.insert(name);
  }
  return with_ops;
}

absl::flat_hash_set<std::string> SessionTasks::DrainingTasks() const {
  absl::flat_hash_set<std::string> draining;
  if (options_.membership == nullptr) return draining;
  const auto known = options_.membership->Get();
  for (const Member& member : known->view.member()) {
    if (member.state() == Member::DRAINING) draining.insert(TaskNameOf(member));
  }
  return draining;
}

void SessionTasks::AddDevicesOfSuccessors(std::vector<DeviceName>* devices) const {
  if (options_.membership == nullptr || cluster_version() == 0) return;
  const auto known = options_.membership->Get();
  std::vector<DeviceName> added;
  for (const auto& [left, successor] : known->state.successors()) {
    const absl::StatusOr<DeviceName> task = DeviceName::Parse(left), by = DeviceName::Parse(successor);
    const bool is_there = task.ok() && std::any_of(devices->begin(), devices->end(),
                                                   [&](const DeviceName& device) { return device.SameTask(*task); });
    if (!task.ok() || !by.ok() || is_there) continue;
    for (const DeviceName& device : *devices) {
      if (device.SameTask(*by)) added.push_back(device.OverriddenBy(*task));
    }
  }
  devices->insert(devices->end(), added.begin(), added.end());
}

std::vector<DeviceName> SessionTasks::PlacementOrder() const {
  std::vector<DeviceName> order;
  for (const auto& attributes : Devices()) {
    auto name = DeviceName::ParseFull(attributes.name());
    if (name.ok()) order.push_back(*std::move(name));
  }
  AddDevicesOfSuccessors(&order);
  // Nodes without a device of their own go to a task that drains only if no other has a kernel for them.
  const absl::flat_hash_set<std::string> draining = DrainingTasks();
  absl::flat_hash_map<std::string, std::string> successors;
  if (options_.membership != nullptr) successors = options_.membership->Get()->state.successors();
  auto rank = [&](const DeviceName& device) {
    const std::string task = device.TaskName();
    const bool has_left = draining.contains(task) || successors.contains(task);
    return std::make_tuple(has_left, task != options_.local_task, *device.type == kDeviceCpu);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](const DeviceName& a, const DeviceName& b) { return rank(a) < rank(b); });
  return order;
}

std::string SessionTasks::ClientDevice() const {
  for (const auto& attributes : Devices()) {
    const auto name = DeviceName::ParseFull(attributes.name());
    if (name.ok() && name->TaskName() == options_.local_task && *name->type == kDeviceCpu) return name->ToString();
  }
  return absl::StrCat(options_.local_task, "/device:CPU:0");
}

}  // namespace weir
