#include "master/session_tasks.h"
#include "core/clock.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "core/threads/cancellable_sleep.h"
#include "core/wire/wire_options.h"
#include "master/blocking_call.h"

namespace weir {
namespace {

constexpr absl::Duration kRetryPause = absl::Milliseconds(200);

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

absl::StatusOr<SessionTasks::Task> SessionTasks::Ask(const std::string& task) const {
  Task found;
  ASSIGN_OR_RETURN(found.worker, options_.workers->Get(task));
  tensorflow::GetStatusRequest request;
  tensorflow::GetStatusResponse response;
  const CallOptions call{.deadline = MonotonicNow() + options_.call_timeout};
  RETURN_IF_ERROR(Await([&](auto done) { found.worker->GetStatusAsync(call, &request, &response, done); }));
  if (response.device_attributes().empty()) {
    return errors::FailedPrecondition("Task ", task, " reports no devices");
  }
  found.devices = {response.device_attributes().begin(), response.device_attributes().end()};
  found.incarnation = response.device_attributes(0).incarnation();
  return found;
}

absl::Status SessionTasks::Negotiate(const CallOptions& call, Task* found) {
  const GetCapabilitiesRequest request;
  absl::Status status =
      Await([&](auto done) { found->worker->GetCapabilitiesAsync(call, &request, &found->capabilities, done); });
  return absl::IsUnimplemented(status) ? absl::OkStatus() : status;
}

absl::Status SessionTasks::OpenWorkerSession(const std::string& task, Task* found) const {
  tensorflow::CreateWorkerSessionRequest request;
  tensorflow::CreateWorkerSessionResponse response;
  request.set_session_handle(options_.session_handle);
  request.set_isolate_session_state(options_.isolate_session_state);
  request.set_master_task(options_.local_task);
  // Lets a worker detect sessions from before a restart of this master.
  request.set_master_incarnation(static_cast<int64_t>(master_incarnation_));
  const CallOptions call{.deadline = MonotonicNow() + options_.call_timeout};
  absl::Status status =
      Await([&](auto done) { found->worker->CreateWorkerSessionAsync(call, &request, &response, done); });
  if (status.ok()) status = Negotiate(call, found);
  return Annotate(std::move(status), absl::StrCat("Opening a session on task ", task));
}

absl::Status SessionTasks::Connect(const CallOptions& call) {
  if (auto self = Ask(options_.local_task); self.ok()) master_incarnation_ = self->incarnation;
  std::vector<std::string> missing = FilteredTasks();
  absl::Status last;
  while (true) {
    std::vector<std::string> still_missing;
    for (const std::string& task : missing) {
      auto found = Ask(task);
      absl::Status status = found.ok() ? OpenWorkerSession(task, &*found) : found.status();
      if (status.ok()) {
        MutexLock lock(mu_);
        tasks_[task] = *std::move(found);
      } else if (absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status)) {
        still_missing.push_back(task);
        last = std::move(status);
      } else {
        return status;
      }
    }
    missing = std::move(still_missing);
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

absl::Status SessionTasks::Refresh(bool* changed) {
  std::vector<std::pair<std::string, uint64_t>> known;
  {
    MutexLock lock(mu_);
    for (const auto& [name, task] : tasks_) known.emplace_back(name, task.incarnation);
  }
  for (const auto& [name, incarnation] : known) {
    auto found = Ask(name);
    if (!found.ok() || found->incarnation == incarnation) continue;
    RETURN_IF_ERROR(OpenWorkerSession(name, &*found));
    MutexLock lock(mu_);
    tasks_[name] = *std::move(found);
    *changed = true;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<tensorflow::DeviceAttributes>> SessionTasks::Probe(const CallOptions& call) const {
  std::vector<tensorflow::DeviceAttributes> devices;
  for (const std::string& task : FilteredTasks()) {
    ASSIGN_OR_RETURN(Task found, Ask(task));
    devices.insert(devices.end(), found.devices.begin(), found.devices.end());
  }
  return devices;
}

absl::Status SessionTasks::CleanupAll(const CallOptions& call, const std::vector<std::string>& containers) const {
  tensorflow::CleanupAllRequest request;
  for (const std::string& container : containers) request.add_container(container);
  for (const std::string& task : FilteredTasks()) {
    ASSIGN_OR_RETURN(std::shared_ptr<WorkerInterface> worker, options_.workers->Get(task));
    tensorflow::CleanupAllResponse response;
    RETURN_IF_ERROR(Await([&](auto done) { worker->CleanupAllAsync(call, &request, &response, done); }));
  }
  return absl::OkStatus();
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
  std::vector<tensorflow::DeleteWorkerSessionResponse> responses(tasks.size());
  std::vector<Awaited<absl::Status>> ended(tasks.size());
  size_t i = 0;
  for (auto& [name, task] : tasks) {
    Awaited<absl::Status>* awaited = &ended[i];
    task.worker->DeleteWorkerSessionAsync(call, &request, &responses[i++],
                                          [awaited](absl::Status status) { awaited->Set(std::move(status)); });
  }
  // A task that is gone has no session to close.
  for (auto& awaited : ended) awaited.Take().IgnoreError();
}

absl::StatusOr<SessionTasks::Task> SessionTasks::Find(absl::string_view task) const {
  MutexLock lock(mu_);
  auto it = tasks_.find(task);
  if (it == tasks_.end()) return errors::NotFound("Task ", task, " is not one of this session's");
  return it->second;
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

absl::flat_hash_set<std::string> SessionTasks::TasksWithWireOps() const {
  MutexLock lock(mu_);
  absl::flat_hash_set<std::string> with_ops;
  for (const auto& [name, task] : tasks_) {
    if (task.capabilities.wire_version() == kWireVersion) with_ops.insert(name);
  }
  return with_ops;
}

std::vector<DeviceName> SessionTasks::PlacementOrder() const {
  std::vector<DeviceName> order;
  for (const auto& attributes : Devices()) {
    auto name = DeviceName::ParseFull(attributes.name());
    if (name.ok()) order.push_back(*std::move(name));
  }
  auto rank = [this](const DeviceName& device) {
    return std::make_pair(device.TaskName() != options_.local_task, *device.type == kDeviceCpu);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](const DeviceName& a, const DeviceName& b) { return rank(a) < rank(b); });
  return order;
}

std::string SessionTasks::ClientDevice() const {
  for (const DeviceName& device : PlacementOrder()) {
    if (*device.type == kDeviceCpu) return device.ToString();
  }
  return absl::StrCat(options_.local_task, "/device:CPU:0");
}

}  // namespace weir
