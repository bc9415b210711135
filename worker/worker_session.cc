#include "worker/worker_session.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "graph/graph.h"
#include "kernels/control/session_tensors.h"
#include "worker/executor/node_kernel.h"
#include "worker/registered_graph.h"
#include "worker/session_device.h"

namespace weir {

WorkerSession::WorkerSession(Options options) : options_(std::move(options)) {
  for (Device* device : options_.devices) {
    if (options_.isolate_state) {
      own_devices_.push_back(NewSessionDevice(device, options_.task));
      device = own_devices_.back().get();
    }
    devices_.push_back(device);
  }
}

WorkerSession::~WorkerSession() = default;

Device* WorkerSession::FindDevice(absl::string_view name) const {
  for (Device* device : devices_) {
    if (device->name() == name) return device;
  }
  absl::StatusOr<DeviceName> spec = DeviceName::Parse(name);
  if (!spec.ok()) return nullptr;
  for (Device* device : devices_) {
    if (device->parsed_name().Matches(*spec)) return device;
  }
  return nullptr;
}

absl::StatusOr<std::shared_ptr<OpKernel>> WorkerSession::Kernel(const Node& node, const OpRegistry& ops, Device* device,
                                                                FunctionRuntime* functions) {
  const auto create = [&]() -> absl::StatusOr<std::shared_ptr<OpKernel>> {
    return CreateNodeKernel(*options_.kernels, ops, node, device, functions);
  };
  // A kernel that calls functions is bound to its graph's library; only iterators keep their own library.
  bool calls_functions = node.registration() == nullptr;
  for (const auto& [name, attr] : node.def().attr()) calls_functions |= attr.has_func() || attr.list().func_size() > 0;
  if (node.op() == "OneShotIterator") calls_functions = false;
  if (!node.IsStateful() || calls_functions || node.IsSend() || node.IsRecv()) return create();
  const std::pair<const Device*, std::string> key(device, absl::StrCat(node.op(), ";", node.name()));
  {
    MutexLock lock(mu_);
    if (auto it = kernels_.find(key); it != kernels_.end()) return it->second;
  }
  ASSIGN_OR_RETURN(std::shared_ptr<OpKernel> kernel, create());
  MutexLock lock(mu_);
  return kernels_.try_emplace(key, std::move(kernel)).first->second;
}

absl::StatusOr<std::string> WorkerSession::AddGraph(std::shared_ptr<RegisteredGraph> graph) {
  MutexLock lock(mu_);
  if (has_ended_) return errors::Aborted("Session ", options_.handle, " was closed");
  // Differs from all handles given before a restart of this task: the master may still deregister those.
  std::string handle = absl::StrFormat("%016x%08x", devices_[0]->incarnation(), ++next_graph_);
  graphs_.emplace(handle, std::move(graph));
  return handle;
}

std::shared_ptr<RegisteredGraph> WorkerSession::FindGraph(absl::string_view handle) const {
  MutexLock lock(mu_);
  auto it = graphs_.find(handle);
  return it == graphs_.end() ? nullptr : it->second;
}

size_t WorkerSession::num_graphs() const {
  MutexLock lock(mu_);
  return graphs_.size();
}

bool WorkerSession::RemoveGraph(absl::string_view handle) {
  std::shared_ptr<RegisteredGraph> removed;  // destroyed without the lock
  MutexLock lock(mu_);
  auto it = graphs_.find(handle);
  if (it == graphs_.end()) return false;
  removed = std::move(it->second);
  graphs_.erase(it);
  return true;
}

std::optional<int64_t> WorkerSession::AddStep(int64_t step_id, CancelFn cancel, WaitsFn waits) {
  MutexLock lock(mu_);
  if (has_ended_) return std::nullopt;
  steps_.emplace(next_step_, RunningStep{step_id, std::move(cancel), std::move(waits)});
  return next_step_++;
}

std::vector<int64_t> WorkerSession::StepIds() const {
  std::vector<int64_t> ids;
  MutexLock lock(mu_);
  for (const auto& [token, step] : steps_) ids.push_back(step.step_id);
  return ids;
}

std::vector<StepWait> WorkerSession::WaitsOf(const std::vector<int64_t>& step_ids) const {
  const absl::flat_hash_set<int64_t> asked(step_ids.begin(), step_ids.end());
  std::vector<WaitsFn> steps;
  {
    MutexLock lock(mu_);
    for (const auto& [token, step] : steps_) {
      if (asked.contains(step.step_id) && step.waits) steps.push_back(step.waits);
    }
  }
  std::vector<StepWait> waits;
  for (const WaitsFn& step : steps) {
    for (StepWait& wait : step()) waits.push_back(std::move(wait));
  }
  return waits;
}

void WorkerSession::RemoveStep(int64_t token) {
  std::vector<std::function<void()>> ended;
  {
    MutexLock lock(mu_);
    steps_.erase(token);
    for (auto it = waiters_.begin(); it != waiters_.end();) {
      const auto waiter = it++;
      if (waiter->tokens.erase(token) == 0 || !waiter->tokens.empty()) continue;
      ended.push_back(std::move(waiter->ended));
      waiters_.erase(waiter);
    }
  }
  for (const auto& call : ended) call();
}

void WorkerSession::EndSteps(const std::vector<int64_t>* step_ids, const absl::Status& reason,
                             std::function<void()> ended) {
  absl::flat_hash_set<int64_t> named;
  if (step_ids != nullptr) named.insert(step_ids->begin(), step_ids->end());
  std::vector<CancelFn> cancels;
  {
    MutexLock lock(mu_);
    Waiter waiter;
    for (const auto& [token, step] : steps_) {
      if (step_ids != nullptr && !named.contains(step.step_id)) continue;
      cancels.push_back(step.cancel);
      waiter.tokens.insert(token);
    }
    if (!cancels.empty()) {
      waiter.ended = std::exchange(ended, nullptr);
      waiters_.push_back(std::move(waiter));
    }
  }
  for (const CancelFn& cancel : cancels) cancel(reason);
  if (ended) ended();
}

void WorkerSession::CancelSteps(const absl::Status& reason) {
  EndSteps(nullptr, reason, [] {});
}

bool WorkerSession::has_ended() const {
  MutexLock lock(mu_);
  return has_ended_;
}

void WorkerSession::End() {
  absl::flat_hash_map<std::string, std::shared_ptr<RegisteredGraph>> graphs;
  {
    MutexLock lock(mu_);
    has_ended_ = true;
    graphs.swap(graphs_);
  }
  CancelSteps(errors::Cancelled("The session was closed"));
  for (Device* device : devices_) device->resources()->ClearContainer(SessionTensorContainer(options_.handle));
}

}  // namespace weir
